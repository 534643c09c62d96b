/**
 * Tells of lapsed slots in the server's log: each by its ref, but at most a few a second, and the
 * rest as a count. A whole pool of vanished holders must not flood the log.
 */
import type { Lease } from '../core/lease.ts';
import { log } from '../log.ts';

const LINES_A_SECOND = 5;
const SECOND_MS = 1000;

export function lapseLog(): (lease: Lease, nowMs: number) => void {
  let sinceMs = -Infinity;
  let lines = 0;
  let untold = 0;
  return ({ pool, attempt }, nowMs) => {
    if (nowMs - sinceMs >= SECOND_MS) {
      if (untold > 0) log.warn('{count} more slots lapsed', { count: untold });
      sinceMs = nowMs;
      lines = 0;
      untold = 0;
    }
    lines++;
    if (lines > LINES_A_SECOND) untold++;
    else log.warn('{pool}: slot {attempt} lapsed', { pool, attempt });
  };
}
