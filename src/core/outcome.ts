/**
 * How leased work ended, as the governor is told of it. A caller's report (release) and a proxied
 * response are both turned into this one form; nothing here parses or judges.
 */

/**
 * An upstream's rate headers in the normal form that all dialects are read into. Durations are
 * whole ms >= 0; what the upstream did not say is absent, never NaN, 0 or null. Where several
 * windows were read, the fields at the top are those of the binding one.
 */
export interface RateReading {
  /** Requests the window allows, > 0; a fraction where an upstream states a slow rate a second. */
  readonly limit?: number;
  /** Requests left in the window, >= 0; may exceed the limit where an upstream lets one burst. */
  readonly remaining?: number;
  /** Requests used in the window, only where neither limit nor remaining is known. */
  readonly used?: number;
  /** Ms until the window resets. */
  readonly resetMs?: number;
  /** Length of the window, only where a header states it. */
  readonly windowMs?: number;
  /** The reset is when a bucket that fills bit by bit is full again, not the end of a window. */
  readonly refills?: true;
  /** LLM tokens the window allows, left, and the ms until it resets. */
  readonly tokenLimit?: number;
  readonly tokenRemaining?: number;
  readonly tokenResetMs?: number;
  readonly tokenRefills?: true;
  /** The upstream's hint of how long to hold back, ms. */
  readonly retryAfterMs?: number;
  /** What the reading is about (a bucket, a policy, a reason), where the upstream says it. */
  readonly scope?: string;
  /** Every window that was read, where there were several; all of them bind. */
  readonly windows?: readonly RateWindow[];
}

/**
 * What a window counts. Only `requests` and `tokens` (LLM tokens) have fields at the top of a
 * reading; the rest is told in its windows alone.
 */
export type RateUnit =
  | 'requests'
  | 'tokens'
  | 'complexity'
  | 'points'
  | 'content-bytes'
  | 'concurrent-requests';

/** One of several windows that an upstream reports side by side; requests where no unit is told. */
export interface RateWindow {
  readonly name?: string;
  readonly unit?: RateUnit;
  readonly limit?: number;
  readonly remaining?: number;
  readonly used?: number;
  /** Used share of a limit that the upstream keeps to itself, in percent. */
  readonly usedPercent?: number;
  readonly resetMs?: number;
  readonly windowMs?: number;
}

/**
 * `ok`: answered. `throttled`: refused by the upstream (one or more 429s on the way count as one).
 * `failed`: 5xx, network failure, time-out. `lapsed`: the holder vanished. `unsent`: the call was
 * never made, so its start counts for nothing. `unknown`: the caller gave up, or reported nothing
 * that tells. Only `ok` and `throttled` teach limits.
 */
export type OutcomeKind = 'ok' | 'throttled' | 'failed' | 'lapsed' | 'unsent' | 'unknown';

export interface Outcome {
  readonly kind: OutcomeKind;
  /** Final upstream HTTP status, 100 to 999; of a report to 599. */
  readonly status?: number;
  /** The upstream's retry hint, ms >= 0. */
  readonly retryAfterMs?: number;
  readonly reading?: RateReading;
  /** LLM tokens really used, to settle what the acquire reserved. */
  readonly tokens?: number;
  /** Ms from sending to the first byte of the answer; proxied requests only. */
  readonly firstByteMs?: number;
}

/** The upstream's hint of how long to hold back, from wherever it came; the longest wins. */
export function hintOf({ retryAfterMs, reading }: Outcome): number | undefined {
  if (reading?.retryAfterMs === undefined) return retryAfterMs;
  return Math.max(retryAfterMs ?? 0, reading.retryAfterMs);
}
