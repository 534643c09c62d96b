/**
 * The governor of one pool: it hands each start and each outcome to the gates and to the searches
 * behind them, and keeps the one thing that they share: the refusal event, counted once a flight.
 * It enforces nothing; the pool asks before each start.
 */
import type { Outcome } from '../outcome.ts';
import { Blame } from './blame.ts';
import { ChangeLog } from './change_log.ts';
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
import { Pacer } from './pacer.ts';
import { OperatorRate } from './operator_rate.ts';
import { Pause } from './pause.ts';
import { RefusalCount } from './refusal_count.ts';
import { Scout } from './scout.ts';

const OPEN: Opening = { kind: 'open' };
const STREAK_SCOUTS = 4;
const RATE_STREAK_SCOUTS = 2;
const LEVEL_FIRST = 4;
const RESUME_PER_SECOND_MIN = 1;
const RESUME_MS_MAX = 2000;

export class PoolGovernor implements Governor {
  #settings: GovernorSettings;
  readonly #random: () => number;
  readonly #operator = new OperatorRate();
  readonly #pause = new Pause();
  readonly #scout = new Scout();
  readonly #refusals = new RefusalCount();
  readonly #changes = new ChangeLog();
  #level: Level;
  #learned = new LearnedRate();
  #requests = new HeaderBudget('starts');
  #tokens = new HeaderBudget('tokens');
  #gradient = new Gradient();
  #blame = new Blame();
  #lastSequence = 0;
  #eventSequence = 0;
  #streak = 0;
  #resumePacer = new Pacer(0, 1);
  #resumeUntilMs = -Infinity;

  constructor(settings: GovernorSettings, options: { nowMs: number; random: () => number }) {
    this.#settings = settings;
    this.#random = options.random;
    this.#level = new Level(settings.concurrency, Math.min(LEVEL_FIRST, settings.concurrency.limit));
    this.#operator.configure(options.nowMs, settings.rate);
  }

  get limit(): number {
    const { mode, limit } = this.#settings.concurrency;
    return mode === 'fixed' ? limit : this.#level.value;
  }

  get dueAtMs(): number {
    return this.#scout.isInFlight ? this.#scout.presumedAtMs : Infinity;
  }

  opening(nowMs: number, tokens: number, ahead: number): Opening {
    const scoutAtMs = this.#scoutAtMs(nowMs);
    const heldUntilMs = Math.max(this.#pause.untilMs, scoutAtMs, this.#resumeAtMs(nowMs));
    const rateAtMs = Math.max(
      this.#operator.opensAtMs(nowMs, ahead),
      this.#learned.opensAtMs(nowMs, ahead),
      this.#requests.opensAtMs(nowMs, ahead),
    );
    const tokensAtMs = tokens <= 0 ? nowMs : Math.max(
      this.#operator.tokensOpenAtMs(nowMs, tokens),
      this.#tokens.opensAtMs(nowMs, 0),
    );
    const atMs = Math.max(heldUntilMs, rateAtMs, tokensAtMs);
    if (atMs <= nowMs) return OPEN;
    const isFirm = !(this.#scout.isInFlight && scoutAtMs >= atMs) && tokensAtMs < atMs;
    return { kind: 'shut', reason: heldUntilMs >= atMs ? 'paused' : 'rate', atMs, isFirm };
  }

  #scoutAtMs(nowMs: number): number {
    if (!this.#scout.isActive) return nowMs;
    return this.#scout.isInFlight ? this.#scout.presumedAtMs : this.#scout.nextAtMs;
  }

  started(nowMs: number, start: Start): void {
    this.#lastSequence = start.sequence;
    this.#operator.started(nowMs, start.tokens);
    this.#learned.started(nowMs);
    this.#blame.started(this.limit);
    this.#requests.started(nowMs, 1);
    if (start.tokens > 0) this.#tokens.started(nowMs, start.tokens);
    if (nowMs < this.#resumeUntilMs) this.#resumePacer.take(nowMs);
    if (this.#scout.isInFlight) this.#presume(nowMs);
    else if (this.#scout.isActive) this.#scout.started(nowMs, start.sequence);
  }

  #resumeAtMs(nowMs: number): number {
    return nowMs < this.#resumeUntilMs ? Math.ceil(this.#resumePacer.opensAtMs(nowMs, 0)) : nowMs;
  }

  /** The try in flight was not refused in the time that a refusal takes. */
  #presume(nowMs: number): void {
    if (this.#scout.isInFlight && nowMs >= this.#scout.presumedAtMs) this.#resume(nowMs);
  }

  #resume(nowMs: number): void {
    const { startedAtMs, refusals, lastRefusedStartMs, sinceMs } = this.#scout;
    const perSecond = this.#learned.recentPerSecond(nowMs);
    if (this.#scout.isQuota(nowMs)) this.#learned.quotaOver(startedAtMs);
    else this.#learned.reopened(startedAtMs, refusals, lastRefusedStartMs);
    this.#scout.leave();
    this.#resumePacer.periodMs = 1000 / Math.max(perSecond, RESUME_PER_SECOND_MIN);
    this.#resumePacer.drain(nowMs, 0);
    this.#resumeUntilMs = nowMs + Math.min(RESUME_MS_MAX, nowMs - sinceMs);
  }

  ended(nowMs: number, start: Start, outcome: Outcome): void {
    if (outcome.tokens !== undefined) this.#operator.settle(nowMs, start, outcome.tokens);
    if (outcome.reading && this.#settings.rate.learn) this.#read(nowMs, outcome.reading);
    if (outcome.retryAfterMs !== undefined) {
      const maxMs = this.#settings.rate.maxPauseMs;
      if (this.#pause.extend(nowMs, outcome.retryAfterMs, { maxMs, random: this.#random })) {
        this.#scout.enterAfterPause(nowMs, this.#pause.untilMs);
      }
    }
    if (outcome.kind === 'ok') this.#accepted(nowMs, start, outcome);
    else if (outcome.kind === 'throttled') this.#refused(nowMs, start, outcome);
    else if (this.#scout.owns(start.sequence)) this.#scout.abandoned();
  }

  #read(nowMs: number, reading: NonNullable<Outcome['reading']>): void {
    this.#requests.read(nowMs, reading, this.#random);
    const { tokenLimit, tokenRemaining, tokenResetMs, tokenWindowMs } = reading;
    this.#tokens.read(nowMs, {
      limit: tokenLimit,
      remaining: tokenRemaining,
      resetMs: tokenResetMs,
      windowMs: tokenWindowMs,
    }, this.#random);
  }

  #accepted(nowMs: number, start: Start, outcome: Outcome): void {
    const isScout = this.#scout.owns(start.sequence);
    const isAfterEvent = start.sequence > this.#eventSequence;
    if (isAfterEvent) this.#streak = 0;
    this.#blame.accepted(nowMs, start.inFlight);
    if (isScout) this.#resume(nowMs);
    else if (isAfterEvent && !this.#scout.isActive && this.#learned.isDry) {
      this.#learned.reopened(start.atMs, 0, -Infinity);
    }
    if (this.#settings.concurrency.mode === 'adaptive') this.#seekLevel(nowMs, start, outcome);
    if (this.#settings.rate.learn) {
      this.#learned.grow(nowMs, (this.#settings.rate.rpm ?? Infinity) / 60);
    }
  }

  #seekLevel(nowMs: number, start: Start, { firstByteMs }: Outcome): void {
    if (firstByteMs !== undefined) {
      const strain = this.#gradient.sample(nowMs, firstByteMs, this.#level.value);
      if (strain.kind === 'slow') this.#level.lower(nowMs, strain.level, this.#lastSequence);
      if (strain.kind === 'ownSlowness') this.#level.restore(strain.level, this.#lastSequence);
      if (strain.kind !== 'none') return;
    }
    if (!this.#gradient.mayGrow || this.#scout.isActive) return;
    const move = this.#level.succeeded(nowMs, start, this.#lastSequence);
    if (move !== null) this.#gradient.grew();
  }

  #refused(nowMs: number, start: Start, outcome: Outcome): void {
    this.#refusals.note(nowMs);
    this.#learned.refused(start.atMs);
    this.#scout.noteTurnaround(nowMs - start.atMs);
    const isScout = this.#scout.owns(start.sequence);
    if (start.sequence <= this.#eventSequence) {
      if (!this.#learned.isDry) this.#level.refusedAgain();
      return;
    }
    if (isScout) this.#scoutRefused(nowMs, start, outcome);
    if (this.#learned.isDry && this.#scout.isActive) return;
    this.#eventSequence = this.#lastSequence;
    this.#streak += 1;
    const verdict = this.#blame.judge(nowMs, {
      inFlight: start.inFlight,
      reading: outcome.reading,
      retryAfterMs: outcome.retryAfterMs,
      kind: this.#settings.rate.kind,
      isRateLearned: this.#learned.isActive,
      isSurprise: this.#streak > 1 || !this.#level.isTrial,
      acceptedTotal: this.#learned.acceptedTotal,
    });
    if (verdict.perSecond !== undefined) {
      this.#level.restoreCalm(this.#lastSequence);
      this.#learned.learn(nowMs, verdict.perSecond);
    } else if (verdict.about === 'rate') this.#rateRefused(nowMs, outcome);
    else this.#levelRefused(nowMs, start);
  }

  #rateRefused(nowMs: number, outcome: Outcome): void {
    this.#requests.contradicted(nowMs, outcome.reading?.remaining);
    if (!this.#settings.rate.learn) return;
    this.#learned.ranDry(nowMs);
    if (this.#learned.isActive) {
      this.#learned.cut(nowMs);
      if (this.#streak < RATE_STREAK_SCOUTS) return;
    } else {
      this.#level.restoreCalm(this.#lastSequence);
    }
    this.#scout.enter(nowMs, this.#random);
  }

  #levelRefused(nowMs: number, start: Start): void {
    const event = { streak: this.#streak, last: this.#lastSequence, random: this.#random };
    this.#level.refused(nowMs, start.inFlight, event);
    if (this.#streak >= STREAK_SCOUTS && this.#settings.rate.learn) {
      this.#learned.ranDry(nowMs);
      this.#level.restoreCalm(this.#lastSequence);
      this.#scout.enter(nowMs, this.#random);
    }
  }

  #scoutRefused(nowMs: number, start: Start, outcome: Outcome): void {
    this.#requests.contradicted(nowMs, outcome.reading?.remaining);
    this.#scout.refused(nowMs, start.atMs, {
      random: this.#random,
      windowEndMs: this.#learned.windowEndMs,
    });
  }

  advance(_nowMs: number): void {}

  configure(nowMs: number, settings: GovernorSettings): void {
    this.#settings = settings;
    this.#operator.configure(nowMs, settings.rate);
  }

  forget(nowMs: number): void {
    void nowMs;
  }

  restoreStarts(_nowMs: number, startsAtMs: readonly number[]): void {
    for (const atMs of startsAtMs) this.#operator.started(atMs, 0);
  }

  status(_nowMs: number): GovernorStatus {
    throw new Error('later');
  }

  drainChanges(): readonly Change[] {
    return this.#changes.drain();
  }

  save(nowMs: number): Saved {
    return {
      atMs: nowMs,
      level: this.#level.value,
      ceiling: Number.isFinite(this.#level.ceiling) ? this.#level.ceiling : null,
      perSecond: this.#learned.perSecond,
      cycleMs: this.#learned.cycleMs,
      pausedUntilMs: null,
    };
  }

  /** For tracing in the simulator. */
  get trace(): string {
    const r = this.#learned.perSecond;
    return `L=${this.#level.value} c=${this.#level.ceiling} R=${r?.toFixed(3)} sc=${this.#scout.isActive} k=${this.#streak}`;
  }
}
