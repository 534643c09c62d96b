/**
 * How long to wait before the next try: never less than the server asked for, more from try to
 * try, and always a little more than that, so that callers who were refused together do not come
 * back together.
 */
const BASE_MS = 100;
const CAP_MS = 2_000;
const JITTER_SHARE = 0.25;
const JITTER_MS_MIN = 50;

/**
 * @param tries how many failed so far, 1 or more.
 * @param hintMs what Retry-After or `retryAfterMs` said.
 * @param random 0 to 1.
 */
export function backoffMs(tries: number, hintMs: number | undefined, random: number): number {
  const growing = Math.min(CAP_MS, BASE_MS * 2 ** Math.min(tries - 1, 10));
  const floor = Math.max(hintMs ?? 0, growing);
  return floor + random * Math.max(JITTER_MS_MIN, floor * JITTER_SHARE);
}
