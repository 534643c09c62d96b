/**
 * The headers by which callers and this server talk beside the bodies. Whoever reads or writes one
 * takes its name from here, and the API document says of each what stands here.
 */

export interface OwnHeader {
  /** In lower case, as it is sent; it is read in any. */
  readonly name: string;
  readonly about: string;
  readonly type: 'integer' | 'string';
}

const whole = (name: string, about: string): OwnHeader => ({ name, about, type: 'integer' });
const text = (name: string, about: string): OwnHeader => ({ name, about, type: 'string' });

/** What an acquire may ask. */
export const ASKED = {
  repeatKey: text(
    'idempotency-key',
    '1 to 128 visible ASCII characters: a repeat under the same one takes no second slot',
  ),
  waitMs: whole('x-nthpool-queue-timeout-ms', 'whole ms to wait, where the body has no waitMs'),
  noQueue: text('x-nthpool-no-queue', 'present, and neither 0 nor false: no wait at all'),
} as const;

/** What is told of the pool to whoever asks for a slot, and may know it. */
export const OF_POOL = {
  remaining: whole('x-nthpool-remaining-slots', 'the limit in force less the slots in use'),
  limit: whole('x-nthpool-effective-limit', 'the limit in force'),
  queuedMs: whole('x-nthpool-queued-ms', 'whole ms that this request waited'),
  queued: whole('x-nthpool-queue-depth', 'waiters left in the queue'),
  attempt: text('x-nthpool-request-id', 'the id of this attempt in the access log'),
  rpm: whole('x-nthpool-rpm-limit', 'starts a minute, where there is a rate'),
  rpmRemaining: whole('x-nthpool-rpm-remaining', 'what is left of them'),
} as const;

export const LEASE_MS = whole(
  'x-nthpool-lease-ms',
  "ms of the lease's whole life, where its deadline is not termMs after the grant",
);

/** What a refusal may have. */
export const OF_REFUSAL = {
  retryAfter: whole('retry-after', 'seconds after which to try again'),
  challenge: text('www-authenticate', 'with each 401: what is wanted'),
  allow: text('allow', 'with each 405: the methods that the path takes'),
  error: text('x-nthpool-error', 'the code, where the request reached no operation'),
} as const;
