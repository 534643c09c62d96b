/**
 * From a release's report to the outcome that the governor is told. A bare release is a plain
 * success. What the caller parsed itself wins over the raw headers, whole: limits of one source are
 * never mixed with resets of the other.
 */
import type { Outcome, OutcomeKind, RateReading } from '../core/outcome.ts';
import type { Hints } from '../upstream/dialect.ts';
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

/** Counts and durations as the normal form has them: whole, and a limit of 0 says nothing. */
function readingOf(rate: NonNullable<ReleaseBody['rate']>): RateReading {
  const whole = Object.entries(rate)
    .filter(([name, value]) => value !== undefined && !(isLimit(name) && value <= 0))
    .map(([name, value]) => [name, isLimit(name) ? value : Math.ceil(value as number)]);
  return Object.fromEntries(whole) as RateReading;
}

function isLimit(name: string): boolean {
  return name === 'limit' || name === 'tokenLimit';
}

/** Several hints merge by the largest, never by their sum. */
function largest(...hints: readonly (number | undefined)[]): number | undefined {
  const known = hints.filter((hint) => hint !== undefined);
  return known.length === 0 ? undefined : Math.ceil(Math.max(...known));
}
