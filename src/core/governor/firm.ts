/**
 * What is sure of the gates: the latest instant of those that running work cannot open earlier.
 * Three things are under way that may: a release may settle fewer tokens than were reserved, the
 * answer to a scout's try may let all others go, and any answer may tell that a bucket which
 * refills bit by bit holds more. All else stands until the upstream or the operator says anew.
 */
import type { Learning } from './learning.ts';
import type { OperatorRate } from './operator_rate.ts';

interface Wanted {
  readonly operator: OperatorRate;
  readonly learning: Learning;
  readonly tokens: number;
  readonly ahead: number;
}

/** The instant before which no start of `tokens` goes with `ahead` starts before it. */
export function firmAtMs(nowMs: number, wanted: Wanted): number {
  const { operator, learning, tokens, ahead } = wanted;
  const { pause, scout, spacing, learned, headers } = learning;
  const isTried = scout.isInFlight;
  const heldUntilMs = isTried ? Math.max(nowMs, pause.untilMs) : learning.heldUntilMs(nowMs);
  return Math.max(
    heldUntilMs,
    // What is learned is measured anew by the answer to a try.
    isTried ? heldUntilMs : spacing.opensAtMs(heldUntilMs),
    isTried ? heldUntilMs : learned.opensAtMs(heldUntilMs, ahead),
    operator.opensAtMs(heldUntilMs, ahead),
    operator.tokensFirmAtMs(heldUntilMs, tokens),
    headers.firmAtMs(heldUntilMs, tokens, ahead),
  );
}
