/**
 * From a release's report to the outcome that the governor is told. A bare release is a plain
 * success. What the caller parsed itself wins over the raw headers, whole: limits of one source are
 * never mixed with resets of the other.
 */
import type { Outcome, OutcomeKind, RateReading } from '../core/outcome.ts';
import { countOf } from '../upstream/counts.ts';
import type { Hints } from '../upstream/dialect.ts';
import { boundedWait, longestOf } from '../upstream/reset.ts';
import { judge } from '../upstream/verdict.ts';
import type { ReleaseBody } from '../wire.ts';

const OK: Outcome = { kind: 'ok' };

/** @param told.nowMs epoch ms, to which dates in headers are compared. */
export function outcomeOf(
  report: ReleaseBody | null,
  told: { nowMs: number; hints: Hints },
): Outcome {
  if (report === null) return OK;
  const { status = 200, headers = {}, rate, tokens } = report;
  const judged = judge({ status, headers, ...told });
  const own = rate === undefined ? {} : readingOf(rate);
  const reading = Object.keys(own).length > 0 ? own : judged.reading;
  const retryAfterMs = largest(report.retryAfterMs, own.retryAfterMs, judged.retryAfterMs);
  return {
    kind: kindOf(report, judged.kind),
    status,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    ...(reading === undefined ? {} : { reading }),
    ...(tokens === undefined ? {} : { tokens }),
  };
}

function kindOf({ throttled = 0 }: ReleaseBody, judged: OutcomeKind): OutcomeKind {
  if (throttled > 0) return 'throttled';
  return judged === 'unknown' ? 'ok' : judged;
}

type Rate = NonNullable<ReleaseBody['rate']>;
type Reader = (value: number) => number | undefined;

const limitOf: Reader = (value) => value > 0 ? countOf(value) : undefined;
const leftOf: Reader = (value) => value >= 0 ? countOf(Math.ceil(value)) : undefined;
const lengthOf: Reader = (value) => value > 0 ? boundedWait(value) : undefined;

/** What headers could have said too: the same counts and times are beyond belief. */
const READERS: Readonly<Record<keyof Rate, Reader>> = {
  limit: limitOf,
  remaining: leftOf,
  resetMs: boundedWait,
  windowMs: lengthOf,
  tokenLimit: limitOf,
  tokenRemaining: leftOf,
  tokenResetMs: boundedWait,
  retryAfterMs: boundedWait,
};

/** The normal form of what makes sense; the rest is dropped, each field for itself. */
function readingOf(rate: Rate): RateReading {
  const told = (Object.keys(READERS) as (keyof Rate)[]).map((name) => {
    const value = rate[name];
    return [name, value === undefined ? undefined : READERS[name](value)] as const;
  });
  return Object.fromEntries(told.filter(([, value]) => value !== undefined));
}

/** Several hints merge by the largest, never by their sum. */
function largest(...hints: readonly (number | undefined)[]): number | undefined {
  const longest = longestOf(hints);
  return longest === undefined ? undefined : Math.ceil(longest);
}
