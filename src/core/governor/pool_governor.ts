/**
 * The governor of one pool: it hands each start and each outcome to the gates and to the searches
 * behind them, and keeps the one thing that they share: the refusal event, counted once a flight.
 * It enforces nothing; the pool asks before each start.
 */
import type { Outcome, RateReading } from '../outcome.ts';
import { Blame } from './blame.ts';
import { ChangeLog } from './change_log.ts';
import { explain } from './explain.ts';
import { Gradient } from './gradient.ts';
import type {
  Change,
  Governor,
  GovernorSettings,
  GovernorStatus,
  Opening,
  Saved,
  Start,
} from './governor.ts';
import { HeaderBudget } from './header_budget.ts';
import { LearnedRate } from './learned_rate.ts';
import { Level } from './level.ts';
import { OperatorRate } from './operator_rate.ts';
import { Pause } from './pause.ts';
import { RefusalCount } from './refusal_count.ts';
import { Resume } from './resume.ts';
import { Scout } from './scout.ts';

const OPEN: Opening = { kind: 'open' };
const MINUTE_SECONDS = 60;
/** So many refusal events in a row, each of a lower level, are no matter of the level. */
const STREAK_SCOUTS = 4;
/** A start that was paced by a rate just lowered was refused too. */
const RATE_STREAK_SCOUTS = 2;
const SAVED_MS_MAX = 86_400_000;

export interface GovernorOptions {
  readonly nowMs: number;
  readonly random: () => number;
  readonly saved?: Saved;
}

export class PoolGovernor implements Governor {
  #settings: GovernorSettings;
  readonly #random: () => number;
  readonly #operator = new OperatorRate();
  readonly #refusals = new RefusalCount();
  readonly #changes: ChangeLog;
  #learning: Learning;
  /** The newest start, and the newest one when the last refusal event was counted. */
  #lastSequence = 0;
  #eventSequence = 0;
  /** Refusal events since a start that came after one was accepted. */
  #streak = 0;

  constructor(settings: GovernorSettings, { nowMs, random, saved }: GovernorOptions) {
    this.#settings = settings;
    this.#random = random;
    this.#learning = makeLearning(settings);
    this.#operator.configure(nowMs, settings.rate);
    if (saved !== undefined) this.#seed(nowMs, saved);
    this.#changes = new ChangeLog(this.#inForce());
  }

  get limit(): number {
    const { mode, limit } = this.#settings.concurrency;
    return mode === 'fixed' ? limit : this.#learning.level.value;
  }

  get dueAtMs(): number {
    const { scout } = this.#learning;
    return scout.isInFlight ? scout.presumedAtMs : Infinity;
  }

  opening(nowMs: number, tokens: number, ahead: number): Opening {
    const { pause, scout, resume, learned, requests, tokens: tokenBudget } = this.#learning;
    const scoutAtMs = scout.opensAtMs(nowMs);
    const heldUntilMs = Math.max(nowMs, pause.untilMs, scoutAtMs, resume.opensAtMs(nowMs));
    const rateAtMs = Math.max(
      this.#operator.opensAtMs(heldUntilMs, ahead),
      learned.opensAtMs(heldUntilMs, ahead),
      requests.opensAtMs(heldUntilMs, ahead),
    );
    const tokensAtMs = tokens <= 0 ? nowMs : Math.max(
      this.#operator.tokensOpenAtMs(heldUntilMs, tokens),
      tokenBudget.opensAtMs(heldUntilMs, 0),
    );
    const atMs = Math.max(rateAtMs, tokensAtMs);
    if (atMs <= nowMs) return OPEN;
    const mayOpenEarlier = scout.isInFlight && pause.untilMs < atMs || tokensAtMs > rateAtMs;
    const reason = heldUntilMs >= atMs ? 'paused' : 'rate';
    return { kind: 'shut', reason, atMs, isFirm: !mayOpenEarlier };
  }

  started(nowMs: number, start: Start): void {
    const { level, learned, blame, requests, tokens, scout, resume } = this.#learning;
    this.#lastSequence = start.sequence;
    this.#operator.started(nowMs, start.tokens);
    learned.started(nowMs);
    blame.started(this.limit);
    requests.started(nowMs, 1);
    if (start.tokens > 0) tokens.started(nowMs, start.tokens);
    resume.started(nowMs);
    if (scout.isInFlight) this.advance(nowMs);
    else if (scout.isActive) scout.started(nowMs, start.sequence);
    if (this.#isAdaptive) level.started(nowMs, start.inFlight, start.sequence);
  }

  ended(nowMs: number, start: Start, outcome: Outcome): void {
    const { scout } = this.#learning;
    if (outcome.tokens !== undefined) this.#operator.settle(nowMs, start, outcome.tokens);
    if (outcome.reading && this.#settings.rate.learn) this.#read(nowMs, outcome.reading);
    if (outcome.retryAfterMs !== undefined) this.#hold(nowMs, outcome.retryAfterMs);
    if (outcome.kind === 'ok') this.#accepted(nowMs, start, outcome);
    else if (outcome.kind === 'throttled') this.#refused(nowMs, start, outcome);
    else if (scout.owns(start.sequence)) scout.abandoned();
    this.#changes.compare(nowMs, this.#inForce(), start);
  }

  advance(nowMs: number): void {
    const { scout } = this.#learning;
    if (scout.isInFlight && nowMs >= scout.presumedAtMs) this.#reopen(nowMs);
  }

  configure(nowMs: number, settings: GovernorSettings): void {
    this.#settings = settings;
    this.#learning.level.configure(settings.concurrency);
    this.#operator.configure(nowMs, settings.rate);
    this.#changes.because('the operator changed the settings');
    this.#changes.compare(nowMs, this.#inForce(), null);
  }

  forget(nowMs: number): void {
    this.#learning = makeLearning(this.#settings);
    this.#eventSequence = this.#lastSequence;
    this.#streak = 0;
    this.#changes.because('the operator had it forget');
    this.#changes.compare(nowMs, this.#inForce(), null);
  }

  restoreStarts(nowMs: number, startsAtMs: readonly number[], isComplete: boolean): void {
    for (const atMs of startsAtMs) this.#operator.started(Math.min(atMs, nowMs), 0);
    if (!isComplete) this.#operator.fill(nowMs);
  }

  status(nowMs: number): GovernorStatus {
    const { level, learned, requests, tokens, pause, scout, gradient } = this.#learning;
    const { concurrency, rate } = this.#settings;
    const headerRpm = requests.perMinute(nowMs);
    const learnedRpm = toRpm(learned.perSecond);
    const explanation = explain({
      nowMs,
      mode: concurrency.mode,
      max: concurrency.max,
      level: level.value,
      ceiling: level.ceiling,
      isTrial: level.isTrial,
      heldFromMs: level.heldFromMs,
      probeAtMs: level.probeAtMs,
      isStrained: !gradient.mayGrow,
      pause,
      scout: {
        sinceMs: scout.sinceMs,
        nextAtMs: scout.isInFlight ? nowMs : scout.nextAtMs,
        isQuota: scout.isQuota(nowMs),
      },
      exhaustedUntilMs: requests.exhaustedUntilMs(nowMs),
      learned: { rpm: learnedRpm, sinceMs: learned.changedAtMs, growsAtMs: learned.growsAtMs },
      headerRpm,
      operatorRpm: rate.rpm,
    });
    return {
      limit: concurrency.limit,
      effectiveLimit: this.limit,
      rpm: lowest(rate.rpm, learnedRpm, headerRpm),
      tpm: lowest(rate.tpm, tokens.perMinute(nowMs)),
      rpmRemaining: lowest(
        this.#operator.startsFree(nowMs),
        requests.remaining(nowMs),
        learned.startsFree(nowMs),
      ),
      ceiling: this.#isAdaptive && Number.isFinite(level.ceiling) ? level.ceiling : null,
      refusedLastHour: this.#refusals.lastHour(nowMs),
      pausedUntil: nowMs < pause.untilMs ? pause.untilMs : null,
      trustsHeaders: requests.isTrusted(nowMs),
      ...explanation,
    };
  }

  drainChanges(): readonly Change[] {
    return this.#changes.drain();
  }

  save(nowMs: number): Saved {
    const { level, learned, pause } = this.#learning;
    return {
      atMs: nowMs,
      level: level.value,
      perSecond: learned.perSecond,
      cycleMs: learned.cycleMs,
      pausedUntilMs: nowMs < pause.untilMs ? pause.untilMs : null,
    };
  }

  get #isAdaptive(): boolean {
    return this.#settings.concurrency.mode === 'adaptive';
  }

  #inForce() {
    const { learned, pause } = this.#learning;
    return { limit: this.limit, perSecond: learned.perSecond, pausedUntilMs: pause.untilMs };
  }

  #seed(nowMs: number, saved: Saved): void {
    const { level, learned, pause } = this.#learning;
    const { learn, maxPauseMs } = this.#settings.rate;
    if (nowMs - saved.atMs > SAVED_MS_MAX) return;
    level.seed(saved.level);
    if (saved.perSecond !== null && learn) learned.seed(nowMs, saved.perSecond, saved.cycleMs);
    if (saved.pausedUntilMs !== null && saved.pausedUntilMs > nowMs) {
      pause.until(nowMs, Math.min(saved.pausedUntilMs, nowMs + maxPauseMs));
    }
  }

  #read(nowMs: number, reading: RateReading): void {
    const { requests, tokens } = this.#learning;
    requests.read(nowMs, reading, this.#random);
    tokens.read(nowMs, {
      limit: reading.tokenLimit,
      remaining: reading.tokenRemaining,
      resetMs: reading.tokenResetMs,
      windowMs: reading.tokenWindowMs,
    }, this.#random);
  }

  /** The upstream asked to hold back: all wait, and after it one start goes first. */
  #hold(nowMs: number, hintMs: number): void {
    const { pause, scout } = this.#learning;
    const limits = { maxMs: this.#settings.rate.maxPauseMs, random: this.#random };
    if (!pause.extend(nowMs, hintMs, limits)) return;
    scout.enterAfterPause(nowMs, pause.untilMs);
    this.#changes.because('the upstream asked to hold back');
  }

  #accepted(nowMs: number, start: Start, outcome: Outcome): void {
    const { blame, scout, learned } = this.#learning;
    const isAfterEvent = start.sequence > this.#eventSequence;
    if (isAfterEvent) this.#streak = 0;
    blame.accepted(nowMs, start.inFlight);
    if (scout.owns(start.sequence)) this.#reopen(nowMs);
    else if (isAfterEvent && !scout.isActive && learned.isDry) learned.reopened(start.atMs, 0);
    if (this.#isAdaptive) this.#seekLevel(nowMs, start, outcome);
    if (!this.#settings.rate.learn) return;
    const move = learned.grow(nowMs, (this.#settings.rate.rpm ?? Infinity) / MINUTE_SECONDS);
    if (move !== null) this.#changes.because(move);
  }

  /** The try of the scout was accepted, or not refused in the time that a refusal takes. */
  #reopen(nowMs: number): void {
    const { scout, learned, resume } = this.#learning;
    const perSecond = learned.recentPerSecond(nowMs);
    const isQuota = scout.isQuota(nowMs);
    if (isQuota) learned.quotaOver(scout.startedAtMs);
    else if (this.#settings.rate.learn) learned.reopened(scout.startedAtMs, scout.refusals);
    this.#changes.because('the upstream takes calls again');
    resume.begin(nowMs, nowMs - scout.sinceMs, perSecond);
    scout.leave();
  }

  #seekLevel(nowMs: number, start: Start, { firstByteMs }: Outcome): void {
    const { level, gradient, scout } = this.#learning;
    if (firstByteMs !== undefined) {
      const strain = gradient.sample(nowMs, firstByteMs, level.value);
      if (strain.kind === 'slow') level.lower(nowMs, strain.level, this.#lastSequence);
      if (strain.kind === 'ownSlowness') level.restore(strain.level, this.#lastSequence);
      if (strain.kind !== 'none') return this.#changes.because(strain.because);
    }
    if (!gradient.mayGrow || scout.isActive) return;
    const move = level.succeeded(nowMs, start, this.#lastSequence);
    if (move === null) return;
    gradient.grew();
    this.#changes.because(move === 'grown' ? 'all slots in use succeed' : 'a trial of one more');
  }

  #refused(nowMs: number, start: Start, outcome: Outcome): void {
    const { learned, scout, level } = this.#learning;
    this.#refusals.note(nowMs);
    learned.refused(start.atMs);
    scout.noteTurnaround(nowMs - start.atMs);
    const isScout = scout.owns(start.sequence);
    if (start.sequence <= this.#eventSequence) {
      if (!learned.isDry && this.#isAdaptive) level.refusedAgain();
      return;
    }
    if (isScout) this.#scoutRefused(nowMs, start, outcome);
    if (learned.isDry && scout.isActive) return;
    this.#eventSequence = this.#lastSequence;
    this.#streak += 1;
    this.#judge(nowMs, start, outcome);
  }

  #scoutRefused(nowMs: number, start: Start, outcome: Outcome): void {
    const { scout, requests, learned } = this.#learning;
    requests.contradicted(nowMs, outcome.reading?.remaining);
    const { windowEndMs } = learned;
    scout.refused(nowMs, start.atMs, { random: this.#random, windowEndMs });
  }

  #judge(nowMs: number, start: Start, outcome: Outcome): void {
    const { blame, learned, level } = this.#learning;
    const verdict = blame.judge(nowMs, {
      inFlight: start.inFlight,
      reading: outcome.reading,
      retryAfterMs: outcome.retryAfterMs,
      kind: this.#settings.rate.kind,
      isRateLearned: learned.isActive,
      isSurprise: this.#streak > 1 || !level.isTrial,
      acceptedTotal: learned.acceptedTotal,
    });
    this.#changes.because(`refused, ${verdict.about}: ${verdict.because}`);
    if (verdict.about === 'concurrency') return this.#levelRefused(nowMs, start);
    if (verdict.perSecond === undefined || !this.#settings.rate.learn) {
      return this.#rateRefused(nowMs, outcome);
    }
    level.restoreCalm(this.#lastSequence);
    learned.learn(nowMs, verdict.perSecond);
  }

  #rateRefused(nowMs: number, outcome: Outcome): void {
    const { requests, learned, level, scout } = this.#learning;
    requests.contradicted(nowMs, outcome.reading?.remaining);
    learned.ranDry(nowMs);
    if (!learned.isActive) level.restoreCalm(this.#lastSequence);
    else if (learned.cut(nowMs) && this.#streak < RATE_STREAK_SCOUTS) return;
    scout.enter(nowMs, this.#random);
  }

  #levelRefused(nowMs: number, start: Start): void {
    const { learned, level, scout } = this.#learning;
    const event = { streak: this.#streak, last: this.#lastSequence, random: this.#random };
    if (this.#isAdaptive) level.refused(nowMs, start.inFlight, event);
    if (this.#streak < STREAK_SCOUTS || this.#settings.rate.kind === 'concurrency') return;
    learned.ranDry(nowMs);
    level.restoreCalm(this.#lastSequence);
    scout.enter(nowMs, this.#random);
  }
}

/** All that is learned; to forget is to start with a fresh one. */
interface Learning {
  readonly level: Level;
  readonly gradient: Gradient;
  readonly blame: Blame;
  readonly learned: LearnedRate;
  readonly requests: HeaderBudget;
  readonly tokens: HeaderBudget;
  readonly pause: Pause;
  readonly scout: Scout;
  readonly resume: Resume;
}

function makeLearning({ concurrency }: GovernorSettings): Learning {
  return {
    level: new Level(concurrency, concurrency.limit),
    gradient: new Gradient(),
    blame: new Blame(),
    learned: new LearnedRate(),
    requests: new HeaderBudget('starts'),
    tokens: new HeaderBudget('tokens'),
    pause: new Pause(),
    scout: new Scout(),
    resume: new Resume(),
  };
}

function toRpm(perSecond: number | null): number | null {
  return perSecond === null ? null : perSecond * MINUTE_SECONDS;
}

function lowest(...rates: readonly (number | null)[]): number | null {
  const set = rates.filter((rate) => rate !== null);
  return set.length === 0 ? null : Math.max(0, Math.min(...set));
}
