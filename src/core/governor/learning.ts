/**
 * All that a pool learned of its upstream, and how each outcome adds to it: which gate a refusal is
 * blamed on, and what becomes of the level, the rate, the pause and the scout. It keeps the one
 * thing that they share: the refusal event, counted once a flight. To forget is to start afresh.
 */
import { hintOf, type Outcome } from '../outcome.ts';
import { Blame } from './blame.ts';
import type { ChangeLog } from './change_log.ts';
import type { GovernorSettings, Start } from './governor.ts';
import { Gradient } from './gradient.ts';
import { HeaderGate } from './header_gate.ts';
import { LearnedRate } from './learned_rate.ts';
import { FEW_SLOTS, Level, type LevelMove } from './level.ts';
import { Pause } from './pause.ts';
import { Scout } from './scout.ts';
import { Spacing } from './spacing.ts';

const MINUTE_SECONDS = 60;
/** So many refusal events in a row, each of a lower level, are no matter of the level. */
const STREAK_SCOUTS = 4;
/** A start that was paced by a rate just lowered was refused too. */
const RATE_STREAK_SCOUTS = 2;

export class Learning {
  level: Level;
  readonly gradient = new Gradient();
  readonly blame = new Blame();
  learned = new LearnedRate();
  headers = new HeaderGate();
  readonly pause = new Pause();
  readonly scout = new Scout();
  readonly spacing = new Spacing();
  readonly #changes: ChangeLog;
  readonly #random: () => number;
  #settings: GovernorSettings;
  /** The newest start. */
  lastSequence: number;
  #lastInFlight = 0;
  /** The newest start when the last refusal event was counted. */
  #eventSequence: number;
  /** Refusal events since a start that came after one was accepted. */
  #streak = 0;

  constructor(
    settings: GovernorSettings,
    options: { random: () => number; changes: ChangeLog; sequence: number },
  ) {
    this.#settings = settings;
    this.#random = options.random;
    this.#changes = options.changes;
    this.lastSequence = options.sequence;
    this.#eventSequence = options.sequence;
    this.level = new Level(settings.concurrency, settings.concurrency.limit);
  }

  configure(nowMs: number, settings: GovernorSettings): void {
    const untilMs = this.pause.cap(nowMs + settings.rate.maxPauseMs);
    this.scout.pauseCapped(untilMs, this.pause.untilMs);
    if (this.#settings.rate.learn && !settings.rate.learn) {
      this.learned = new LearnedRate();
      this.headers = new HeaderGate();
    }
    const { concurrency } = settings;
    const isSwitchedOn = !this.#isAdaptive && concurrency.mode === 'adaptive';
    this.#settings = settings;
    // A level that no call told anything of stands where the settings have it start.
    const isNew = isSwitchedOn || this.level.learned === null;
    if (isNew) this.level = new Level(concurrency, concurrency.limit);
    else this.level.configure(concurrency);
  }

  /** The instant until which all wait, whatever the rates say. */
  heldUntilMs(nowMs: number): number {
    return Math.max(nowMs, this.pause.untilMs, this.scout.opensAtMs(nowMs));
  }

  started(nowMs: number, start: Start, limit: number): void {
    const { level, learned, blame, headers, scout, spacing } = this;
    this.lastSequence = start.sequence;
    this.#lastInFlight = start.inFlight;
    learned.started(nowMs, scout.isActive || nowMs < spacing.untilMs);
    blame.started(limit);
    headers.started(nowMs, start);
    spacing.started(nowMs);
    if (scout.isInFlight) this.#presume(nowMs);
    else if (scout.isActive) scout.started(nowMs, start.sequence);
    if (this.#isAdaptive && level.started(nowMs, start.inFlight, start.sequence) !== null) {
      this.#changes.because('nothing was heard of the level for long: one more is tried', 'limit');
    }
    if (learned.isStale(nowMs)) this.#growRate(nowMs);
  }

  ended(nowMs: number, start: Start, outcome: Outcome): void {
    this.headers.ended(nowMs, start, outcome);
    if (outcome.reading && this.#settings.rate.learn) {
      const at = { random: this.#random, sequence: this.lastSequence };
      this.headers.read(nowMs, outcome.reading, at);
    }
    const hintMs = hintOf(outcome);
    if (hintMs !== undefined) this.#hold(nowMs, hintMs);
    if (outcome.kind === 'unsent') this.learned.uncount(start.atMs);
    if (outcome.kind === 'ok') this.#accepted(nowMs, start, outcome);
    else if (outcome.kind === 'throttled') this.#refused(nowMs, start, outcome);
    else if (this.scout.owns(start.sequence)) this.scout.abandoned();
  }

  /** When {@link advance} has something to do though nothing starts or ends. */
  get dueAtMs(): number {
    if (this.scout.isInFlight) return this.scout.presumedAtMs;
    return this.#mayTryMore ? this.level.trialAtMs : Infinity;
  }

  advance(nowMs: number): void {
    this.#presume(nowMs);
    if (this.#mayTryMore) this.#raised(nowMs, this.level.tryOneMore(nowMs, this.lastSequence));
  }

  /** Lets the others start where the scout's try was not refused in the time that it takes. */
  #presume(nowMs: number): void {
    if (this.scout.isInFlight && nowMs >= this.scout.presumedAtMs) this.#reopen(nowMs);
  }

  get #isAdaptive(): boolean {
    return this.#settings.concurrency.mode === 'adaptive';
  }

  /** The upstream asked to hold back: all wait, and after it one start goes first. */
  #hold(nowMs: number, hintMs: number): void {
    const { pause, scout } = this;
    const limits = { maxMs: this.#settings.rate.maxPauseMs, random: this.#random };
    if (!pause.extend(nowMs, hintMs, limits)) return;
    const why = 'the upstream asked to hold back';
    this.#changes.because(why, 'pause');
    if (!scout.isActive) this.#changes.because(why, 'scout');
    scout.enterAfterPause(nowMs, pause.untilMs);
  }

  #accepted(nowMs: number, start: Start, outcome: Outcome): void {
    const { blame, scout, learned } = this;
    const isAfterEvent = start.sequence > this.#eventSequence;
    if (isAfterEvent) this.#streak = 0;
    blame.accepted(nowMs, start.inFlight, isAfterEvent);
    if (scout.owns(start.sequence)) this.#reopen(nowMs);
    else if (isAfterEvent && !scout.isActive && learned.isDry) this.#measure(start.atMs, 0);
    if (this.#isAdaptive) this.#seekLevel(nowMs, start, outcome);
    this.#growRate(nowMs);
  }

  #measure(reopenedAtMs: number, refusals: number): void {
    const { learned } = this;
    if (!this.#settings.rate.learn) return learned.restart(reopenedAtMs);
    const before = learned.perSecond;
    learned.reopened(reopenedAtMs, refusals);
    if (learned.perSecond === before) return;
    this.#changes.because('measured by what was taken up to now, refusals and all', 'learned');
  }

  #growRate(nowMs: number): void {
    const why = this.learned.grow(nowMs, (this.#settings.rate.rpm ?? Infinity) / MINUTE_SECONDS);
    if (why !== null) this.#changes.because(why, 'learned');
  }

  /** The try of the scout was accepted, or not refused in the time that a refusal takes. */
  #reopen(nowMs: number): void {
    const { scout, learned, spacing } = this;
    const perSecond = learned.recentPerSecond(nowMs);
    if (scout.isQuota(nowMs)) learned.restart(scout.startedAtMs);
    else this.#measure(scout.startedAtMs, scout.refusals);
    this.#changes.because('the upstream takes calls again', 'scout');
    spacing.afterHold(nowMs, nowMs - scout.sinceMs, perSecond);
    scout.leave();
  }

  #seekLevel(nowMs: number, start: Start, { firstByteMs }: Outcome): void {
    const { level, gradient, scout, learned } = this;
    if (firstByteMs !== undefined) {
      const strain = gradient.sample(nowMs, firstByteMs, level.value);
      if (strain.kind === 'slow') level.lower(nowMs, strain.level, this.lastSequence);
      if (strain.kind === 'ownSlowness') level.restore(strain.level, this.lastSequence);
      if (strain.kind !== 'none') return this.#changes.because(strain.because, 'limit');
    }
    if (!this.#mayTryMore) return;
    const known = { last: this.lastSequence, refusalMs: scout.turnaroundMs };
    this.#raised(nowMs, level.succeeded(nowMs, start, { ...known, isPaced: learned.isActive }));
  }

  get #mayTryMore(): boolean {
    return this.gradient.mayGrow && !this.scout.isActive;
  }

  #raised(nowMs: number, move: LevelMove | null): void {
    if (move === null) return;
    const { gradient, level, learned, spacing } = this;
    gradient.grew();
    if (level.value <= FEW_SLOTS && !learned.isActive) {
      spacing.forTrial(nowMs, level.value, level.trialDistanceMs);
    }
    const why = move === 'grown' ? 'all slots in use succeed' : 'a trial of one more';
    this.#changes.because(why, 'limit');
  }

  #refused(nowMs: number, start: Start, outcome: Outcome): void {
    const { learned, scout, level } = this;
    learned.uncount(start.atMs);
    scout.noteTurnaround(nowMs - start.atMs);
    const isScout = scout.owns(start.sequence);
    if (start.sequence <= this.#eventSequence) {
      this.blame.refusedAgain();
      if (learned.isDry || !this.#isAdaptive) return;
      this.#changes.because('refused too, in the same flight', 'limit');
      return level.refusedAgain();
    }
    if (isScout) this.#scoutRefused(nowMs, start, outcome);
    if (learned.isDry && scout.isActive) return;
    this.#eventSequence = this.lastSequence;
    this.#streak += 1;
    this.#judge(nowMs, start, outcome);
  }

  #scoutRefused(nowMs: number, start: Start, outcome: Outcome): void {
    const { scout, headers, learned } = this;
    headers.contradicted(nowMs, outcome.reading, start.tokens);
    scout.refused(nowMs, start.atMs, { random: this.#random, windowEndMs: learned.windowEndMs });
  }

  #judge(nowMs: number, start: Start, outcome: Outcome): void {
    const { blame, learned, level } = this;
    const verdict = blame.judge(nowMs, {
      inFlight: start.inFlight,
      isAlone: start.inFlight <= 1 && start.sequence === this.lastSequence,
      reading: outcome.reading,
      retryAfterMs: hintOf(outcome),
      kind: this.#settings.rate.kind,
      isRateLearned: learned.isActive,
      trial: this.#newestTrial(start),
      isRateBinding: learned.isBinding,
      isRepeated: this.#streak > 1,
      canLower: this.#isAdaptive && level.value > level.bounds.min,
      isSurprise: this.#streak > 1 || !level.isTrial,
      level: level.value,
      acceptedTotal: learned.acceptedTotal,
    });
    const why = `refused, ${verdict.about}: ${verdict.because}`;
    this.#changes.because(why, 'limit', 'learned');
    if (!this.scout.isActive) this.#changes.because(why, 'scout');
    if (verdict.about === 'unclear') return this.scout.enter(nowMs, this.#random);
    if (verdict.about === 'concurrency') {
      return this.#levelRefused(nowMs, start, hintOf(outcome) ?? 0);
    }
    if (verdict.perSecond === undefined || !this.#settings.rate.learn) {
      return this.#rateRefused(nowMs, start, outcome);
    }
    level.restoreCalm(this.lastSequence);
    learned.learn(nowMs, verdict.perSecond);
  }

  #newestTrial(start: Start): 'rate' | 'level' | null {
    const { level, learned } = this;
    const inFlight = Math.max(start.inFlight, this.#lastInFlight);
    const isLevelTrial = level.isTrialOf(inFlight) && this.#streak === 1;
    if (!learned.isTrial) return isLevelTrial ? 'level' : null;
    return isLevelTrial && level.heldFromMs > learned.changedAtMs ? 'level' : 'rate';
  }

  #rateRefused(nowMs: number, start: Start, outcome: Outcome): void {
    const { headers, learned, level, scout } = this;
    headers.contradicted(nowMs, outcome.reading, start.tokens);
    learned.ranDry(nowMs);
    if (!learned.isActive) level.restoreCalm(this.lastSequence);
    else if (learned.cut(nowMs) && this.#streak < RATE_STREAK_SCOUTS) return;
    scout.enter(nowMs, this.#random);
  }

  #levelRefused(nowMs: number, start: Start, pauseMs: number): void {
    const { learned, level, scout } = this;
    const known = { streak: this.#streak, last: this.lastSequence, random: this.#random };
    // Of a burst any call may be the refused one: what counts is how many were in flight with it.
    const inFlight = Math.max(start.inFlight, this.#lastInFlight);
    if (this.#isAdaptive && level.refused(nowMs, inFlight, { ...known, pauseMs }) === 'kept') {
      this.#changes.because('fewer in flight did not make refusals rarer', 'limit');
    }
    if (this.#streak < STREAK_SCOUTS || this.#settings.rate.kind === 'concurrency') return;
    learned.ranDry(nowMs);
    level.restoreCalm(this.lastSequence);
    scout.enter(nowMs, this.#random);
  }
}
