/**
 * What of all that was learned outlives the process, and how the next one begins from it: what
 * calls proved for a day, what the upstream itself told until it ends.
 */
import type { GovernorSettings, Saved } from './governor.ts';
import type { Learning } from './learning.ts';

const SAVED_MS_MAX = 86_400_000;

export function saveLearning(learning: Learning, nowMs: number): Saved {
  const { level, learned, pause, headers } = learning;
  const { perSecond, provenPerSecond } = learned;
  return {
    atMs: nowMs,
    level: level.learned,
    perSecond: provenPerSecond,
    ...(perSecond !== null && perSecond !== provenPerSecond && { trialPerSecond: perSecond }),
    cycleMs: learned.cycleMs,
    pausedUntilMs: nowMs < pause.untilMs ? pause.untilMs : null,
    ...headers.save(nowMs),
  };
}

export function seedLearning(
  learning: Learning,
  nowMs: number,
  saved: Saved,
  { rate, random }: { rate: GovernorSettings['rate']; random: () => number },
): void {
  const { level, learned, pause, headers, scout, lastSequence } = learning;
  // What an upstream told ends by itself, and may be of a month.
  if (rate.learn) headers.seed(nowMs, saved, { random, sequence: lastSequence });
  if (nowMs - saved.atMs > SAVED_MS_MAX) return;
  const { perSecond, cycleMs, pausedUntilMs: untilMs } = saved;
  if (saved.level !== null) level.seed(saved.level);
  if (perSecond !== null && rate.learn) learned.seed(nowMs, perSecond, cycleMs);
  if (untilMs === null || untilMs <= nowMs) return;
  // No longer than it was then, whatever the wall clock did.
  const leftMs = Math.min(untilMs - nowMs, untilMs - saved.atMs, rate.maxPauseMs);
  pause.until(nowMs, nowMs + leftMs);
  scout.enterAfterPause(nowMs, pause.untilMs);
}
