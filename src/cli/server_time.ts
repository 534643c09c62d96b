/**
 * Now as the server's wall clock has it, for instants that the server compares with its own.
 */
import type { AdminClient } from './admin_client.ts';

const LIMIT_MS = 5_000;

/** Epoch ms, from the `Date` of an answer, so right to a second. */
export async function serverNowMs({ url }: Pick<AdminClient, 'url'>): Promise<number> {
  const signal = AbortSignal.timeout(LIMIT_MS);
  const response = await fetch(`${url}/healthz`, { signal }).catch(() => null);
  await response?.body?.cancel();
  const told = Date.parse(response?.headers.get('date') ?? '');
  return Number.isNaN(told) ? Math.round(performance.timeOrigin + performance.now()) : told;
}
