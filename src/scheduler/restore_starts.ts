/**
 * After a restart, the starts of the last minute from the durable rows of grants, so that an
 * operator's rates, of starts and of tokens, hold over a crash. Proxied starts leave no row in
 * time: a window counts full, unless an orderly stop saved all starts with what was learned.
 */
import type { PastStart } from '../core/governor/governor.ts';
import { WINDOW_MS } from '../core/governor/rolling_window.ts';
import type { Store } from '../store/store.ts';
import type { PoolSpec } from '../wire.ts';
import type { Directory } from './directory.ts';

const PAGE = 1000;
/** Beyond so many starts the window counts as full: reading on would only hold up the start. */
const STARTS_MAX = 200_000;

export async function restoreStarts(
  store: Store,
  directory: Directory,
  nowMs: number,
): Promise<void> {
  for (const { spec, pool } of directory.list()) {
    if (!hasStartsToRestore(spec)) continue;
    const starts = await startsOf(store, spec.name, nowMs);
    const isComplete = spec.upstream === null && starts.length < STARTS_MAX;
    pool.governor.restoreStarts(nowMs, starts, isComplete);
  }
}

/** Whether the rows of a pool's last minute are needed, should the process end now. */
export function hasStartsToRestore({ rate }: Pick<PoolSpec, 'rate'>): boolean {
  return rate.rpm !== null || rate.tpm !== null;
}

/** The grants of the last minute, oldest first. */
async function startsOf(store: Store, pool: string, nowMs: number): Promise<PastStart[]> {
  const starts: PastStart[] = [];
  let cursor: string | undefined;
  do {
    const page = await store.readLog({
      pool,
      limit: PAGE,
      outcome: 'granted',
      since: nowMs - WINDOW_MS,
      ...(cursor === undefined ? {} : { cursor }),
    });
    starts.push(...page.entries.map(({ at, tokens = 0 }) => ({ atMs: at, tokens })));
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined && starts.length < STARTS_MAX);
  return starts.sort((a, b) => a.atMs - b.atMs);
}
