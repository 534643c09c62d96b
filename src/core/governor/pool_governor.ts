/**
 * The governor of one pool: the operator's rates, what was learned, and how they are told. It is
 * the one face of the folder; it enforces nothing, for the pool asks before each start.
 */
import type { Outcome } from '../outcome.ts';
import { ChangeLog, type InForce } from './change_log.ts';
import { explain, shownRate, type Snapshot } from './explain.ts';
import { firmAtMs } from './firm.ts';
import type {
  Change,
  Governor,
  GovernorSettings,
  GovernorStatus,
  Opening,
  PastStart,
  RequestRate,
  Saved,
  Start,
} from './governor.ts';
import { Learning } from './learning.ts';
import { saveLearning, seedLearning } from './saved_learning.ts';
import { OperatorRate, type SavedRates } from './operator_rate.ts';
import { RefusalCount } from './refusal_count.ts';

const OPEN: Opening = { kind: 'open' };
const MINUTE_SECONDS = 60;
const NOTHING_SAVED: SavedRates = { atMs: -Infinity };

export interface GovernorOptions {
  readonly nowMs: number;
  readonly random: () => number;
  readonly saved?: Saved;
}

export class PoolGovernor implements Governor {
  #settings: GovernorSettings;
  readonly #random: () => number;
  readonly #operator = new OperatorRate();
  readonly #changes: ChangeLog;
  readonly #refusals = new RefusalCount();
  #learning: Learning;
  #beganAtMs: number;
  /** What an earlier process saved of the operator's rates, until its starts are restored. */
  #savedRates = NOTHING_SAVED;

  constructor(settings: GovernorSettings, { nowMs, random, saved }: GovernorOptions) {
    this.#settings = settings;
    this.#beganAtMs = nowMs;
    this.#random = random;
    this.#changes = new ChangeLog();
    this.#learning = new Learning(settings, { random, changes: this.#changes, sequence: 0 });
    this.#operator.configure(nowMs, settings.rate);
    this.#changes.begin(this.#inForce(nowMs));
    if (saved !== undefined) this.#seed(nowMs, saved);
  }

  /** Begins from what an earlier process saved; what that one told last was of it. */
  #seed(nowMs: number, saved: Saved): void {
    seedLearning(this.#learning, nowMs, saved, { ...this.#settings, random: this.#random });
    this.#refusals.seed(nowMs, saved.refusals ?? []);
    const upToMs = saved.tokens === undefined ? -Infinity : saved.atMs;
    this.#savedRates = { ...saved, atMs: upToMs };
    const now = this.#inForce(nowMs);
    this.#changes.begin({
      ...now,
      limit: this.#settings.concurrency.mode === 'fixed' ? now.limit : saved.level ?? now.limit,
      learnedRpm: toRpm(saved.trialPerSecond ?? saved.perSecond) ?? Infinity,
      pausedUntilMs: saved.pausedUntilMs ?? -Infinity,
      // That the headers still shut it is told anew: only `forget` opens it before its time.
      shutUntilMs: -Infinity,
    });
    this.#changes.because('the server started again', 'limit', 'learned', 'pause');
    this.#changes.compare(nowMs, now, null);
  }

  get limit(): number {
    const { mode, limit } = this.#settings.concurrency;
    return mode === 'fixed' ? limit : this.#learning.level.value;
  }

  get dueAtMs(): number {
    return this.#learning.dueAtMs;
  }

  opening(nowMs: number, tokens: number, ahead: number): Opening {
    const { spacing, learned, headers } = this.#learning;
    const heldUntilMs = this.#learning.heldUntilMs(nowMs);
    const atMs = Math.max(
      spacing.opensAtMs(heldUntilMs),
      this.#operator.opensAtMs(heldUntilMs, ahead),
      this.#operator.tokensOpenAtMs(heldUntilMs, tokens),
      learned.opensAtMs(heldUntilMs, ahead),
      headers.opensAtMs(heldUntilMs, ahead),
      headers.tokensOpenAtMs(heldUntilMs, tokens),
    );
    if (atMs <= nowMs) return OPEN;
    return { kind: 'shut', reason: heldUntilMs >= atMs ? 'paused' : 'rate', atMs };
  }

  firmAtMs(nowMs: number, tokens: number, ahead: number): number {
    return firmAtMs(nowMs, { operator: this.#operator, learning: this.#learning, tokens, ahead });
  }

  started(nowMs: number, start: Start): void {
    this.#operator.started(nowMs, start.tokens);
    this.#learning.started(nowMs, start, this.limit);
    if (this.#changes.isDue) this.#compare(nowMs, start);
  }

  ended(nowMs: number, start: Start, outcome: Outcome): void {
    if (outcome.kind === 'unsent') this.#operator.unsent(nowMs, start);
    else this.#operator.settle(nowMs, start, outcome.tokens ?? start.tokens);
    if (outcome.kind === 'throttled') this.#refusals.note(nowMs);
    this.#learning.ended(nowMs, start, outcome);
    this.#compare(nowMs, start);
  }

  advance(nowMs: number): void {
    this.#learning.advance(nowMs);
    this.#compare(nowMs);
  }

  #compare(nowMs: number, start: Start | null = null): void {
    this.#changes.compare(nowMs, this.#inForce(nowMs), start);
  }

  configure(nowMs: number, settings: GovernorSettings): void {
    // What changed before is not the operator's doing.
    this.#compare(nowMs);
    this.#settings = settings;
    this.#beganAtMs = nowMs;
    this.#learning.configure(nowMs, settings);
    this.#operator.configure(nowMs, settings.rate);
    this.#changes.because('the operator changed the settings');
    this.#compare(nowMs);
  }

  forget(nowMs: number): void {
    this.#compare(nowMs);
    this.#beganAtMs = nowMs;
    this.#learning = new Learning(this.#settings, {
      random: this.#random,
      changes: this.#changes,
      sequence: this.#learning.lastSequence,
    });
    this.#changes.because('the operator had it forget');
    this.#compare(nowMs);
  }

  restoreStarts(nowMs: number, starts: readonly PastStart[], isComplete: boolean): void {
    const saved = this.#savedRates;
    this.#savedRates = NOTHING_SAVED;
    this.#operator.restore(nowMs, starts, saved);
    if (!isComplete && saved.starts === undefined) this.#operator.fill(nowMs);
  }

  requestRate(nowMs: number): RequestRate | null {
    const { learned, headers: { requests } } = this.#learning;
    const { rpm } = this.#settings.rate;
    const limit = lowest(rpm, toRpm(learned.perSecond), requests?.perMinute(nowMs) ?? null);
    return limit === null ? null : { limit, remaining: this.#startsFree(nowMs) ?? limit };
  }

  #startsFree(nowMs: number): number | null {
    const { learned, headers } = this.#learning;
    return lowest(
      this.#operator.startsFree(nowMs),
      headers.remaining(nowMs),
      learned.startsFree(nowMs),
    );
  }

  status(nowMs: number): GovernorStatus {
    const { level, learned, headers, pause } = this.#learning;
    const { requests, tokens } = headers;
    const { concurrency, rate } = this.#settings;
    return {
      limit: concurrency.limit,
      effectiveLimit: this.limit,
      rpm: shown(lowest(rate.rpm, toRpm(learned.perSecond), requests?.perMinute(nowMs) ?? null)),
      tpm: shown(lowest(rate.tpm, tokens?.perMinute(nowMs) ?? null)),
      rpmRemaining: this.#startsFree(nowMs),
      ceiling: concurrency.mode === 'adaptive' && Number.isFinite(level.ceiling)
        ? level.ceiling
        : null,
      refusedLastHour: this.#refusals.lastHour(nowMs),
      pausedUntil: nowMs < pause.untilMs ? pause.untilMs : null,
      trustsHeaders: requests?.isTrusted(nowMs) ?? true,
      ...explain(this.#snapshot(nowMs)),
    };
  }

  #snapshot(nowMs: number): Snapshot {
    const { level, gradient, pause, scout, spacing } = this.#learning;
    const { mode, max } = this.#settings.concurrency;
    return {
      nowMs,
      mode,
      max,
      level,
      probeCallsLeft: level.probeCallsLeft(nowMs),
      isStrained: gradient.isSlow,
      pause,
      scout: {
        sinceMs: scout.sinceMs,
        atMs: scout.opensAtMs(nowMs),
        isInFlight: scout.isInFlight,
        isQuota: scout.isQuota(nowMs),
        isAfterPause: scout.isAfterPause,
      },
      spacing: { cause: spacing.cause, fromMs: spacing.fromMs, atMs: spacing.opensAtMs(nowMs) },
      ...this.#rates(nowMs),
      beganAtMs: this.#beganAtMs,
    };
  }

  /** Each source's rates, and when they let the next start go, as {@link opening} asks them. */
  #rates(nowMs: number) {
    const { learned, headers } = this.#learning;
    const { requests, tokens } = headers;
    const { rpm, tpm } = this.#settings.rate;
    const heldUntilMs = this.#learning.heldUntilMs(nowMs);
    const sinceMs = this.#beganAtMs;
    return {
      operator: { perMinute: rpm, sinceMs, atMs: this.#operator.opensAtMs(heldUntilMs, 0) },
      learned: {
        perMinute: toRpm(learned.perSecond),
        sinceMs: learned.changedAtMs,
        growsAtMs: learned.growsAtMs,
        atMs: learned.opensAtMs(heldUntilMs, 0),
      },
      headers: {
        perMinute: requests?.perMinute(nowMs) ?? null,
        sinceMs: Math.max(requests?.sinceMs ?? nowMs, sinceMs),
        isExhausted: headers.exhaustedUntilMs(heldUntilMs) !== null,
        atMs: headers.opensAtMs(heldUntilMs, 0),
      },
      operatorTokens: {
        perMinute: tpm,
        sinceMs,
        atMs: this.#operator.tokensOpenAtMs(heldUntilMs, 1),
      },
      headerTokens: {
        perMinute: tokens?.perMinute(nowMs) ?? null,
        sinceMs: Math.max(tokens?.sinceMs ?? nowMs, sinceMs),
        atMs: headers.tokensOpenAtMs(heldUntilMs, 1),
      },
    };
  }

  tell(change: Change): void {
    this.#changes.tell(change);
  }

  drainChanges(): readonly Change[] {
    return this.#changes.drain();
  }

  save(nowMs: number, isOver = false): Saved {
    const tokens = this.#operator.tokensTaken(nowMs);
    const starts = isOver ? this.#operator.startsTaken(nowMs) : undefined;
    const refusals = this.#refusals.save(nowMs);
    return {
      ...saveLearning(this.#learning, nowMs),
      ...(tokens && tokens.length > 0 && { tokens }),
      ...(starts && { starts }),
      ...(refusals && { refusals }),
    };
  }

  #inForce(nowMs: number): InForce {
    const { learned, headers, pause, scout } = this.#learning;
    const { rpm, tpm } = this.#settings.rate;
    return {
      limit: this.limit,
      operatorRpm: rpm ?? Infinity,
      operatorTpm: tpm ?? Infinity,
      learnedRpm: toRpm(learned.perSecond) ?? Infinity,
      headerRpm: headers.requests?.perMinute(nowMs) ?? Infinity,
      headerTpm: headers.tokens?.perMinute(nowMs) ?? Infinity,
      areHeadersTrusted: headers.requests?.isTrusted(nowMs) ?? true,
      pausedUntilMs: pause.untilMs,
      shutUntilMs: headers.exhaustedUntilMs(nowMs) ?? -Infinity,
      isOneAtATime: scout.isActive,
    };
  }
}

function toRpm(perSecond: number | null): number | null {
  return perSecond === null ? null : perSecond * MINUTE_SECONDS;
}

function shown(perMinute: number | null): number | null {
  return perMinute === null ? null : shownRate(perMinute);
}

function lowest(...rates: readonly (number | null)[]): number | null {
  const set = rates.filter((rate) => rate !== null);
  return set.length === 0 ? null : Math.max(0, Math.min(...set));
}
