/**
 * From a release's report to the outcome that the governor is told. A bare release is a plain
 * success.
 */
import type { Outcome, OutcomeKind } from '../core/outcome.ts';
import type { ReleaseBody } from '../wire.ts';

const OK: Outcome = { kind: 'ok' };

export function outcomeOf(report: ReleaseBody | null): Outcome {
  if (report === null) return OK;
  return { kind: kindOf(report) };
}

function kindOf({ status = 200, throttled = 0 }: ReleaseBody): OutcomeKind {
  if (throttled > 0 || status === 429) return 'throttled';
  return status >= 500 ? 'failed' : 'ok';
}
