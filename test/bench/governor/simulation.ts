/**
 * One run of a scenario: workers in closed loops, a gate with a first-come-first-served queue for
 * each instance, the network, and the upstream. It drives a limiter as the server would: it asks
 * before each start, tells of each start and end, and wakes it when it is due. Nothing here decides
 * when a call may start.
 */
import type { Outcome } from '../../../src/core/outcome.ts';
import type { Start } from '../../../src/core/governor/governor.ts';
import { lognormal, mulberry32, type Random, uniform } from './chance.ts';
import type { Limiter, MakeLimiter } from './limiter.ts';
import type { Scenario } from './scenario.ts';
import { Timeline } from './timeline.ts';
import { type Answer, SimulatedUpstream } from './upstream.ts';

const CLIENTS_PER_INSTANCE = 4;
const BACKOFF_FIRST_MS = 500;
const BACKOFF_MS_MAX = 20_000;
/** Virtual instants are given to limiters as epoch ms, as the server does. */
export const EPOCH_MS = 1_800_000_000_000;

export interface Success {
  readonly atMs: number;
  readonly latencyMs: number;
  readonly instance: number;
  readonly client: number;
}

export interface Run {
  readonly successes: readonly Success[];
  readonly refused: number;
}

interface Worker {
  readonly client: number;
  attempt: number;
  tokens: number;
}

export function simulate(scenario: Scenario, make: MakeLimiter, seed: number): Run {
  const world = new World(scenario, mulberry32(seed));
  scenario.instances.forEach((instance, index) => {
    const gate = new Gate(world, index, { make, random: mulberry32(seed * 7919 + index + 1) });
    let worker = 0;
    for (const group of instance.workers) {
      for (let count = 0; count < group.count; count += 1) {
        const client = worker++ % CLIENTS_PER_INSTANCE;
        const startMs = group.atMs + uniform(world.random, 0, 50);
        world.timeline.plan(startMs, () => gate.join({ client, attempt: 0, tokens: 0 }));
      }
    }
    for (const atMs of scenario.restartsAtMs ?? []) world.timeline.plan(atMs, () => gate.restart());
  });
  world.timeline.run(scenario.durationMs);
  return { successes: world.successes, refused: world.refused };
}

class World {
  readonly timeline = new Timeline();
  readonly upstream: SimulatedUpstream;
  readonly successes: Success[] = [];
  refused = 0;

  constructor(readonly scenario: Scenario, readonly random: Random) {
    this.upstream = new SimulatedUpstream(scenario.upstream, random);
  }

  /** Sends one call; `done` runs when its answer is back. */
  call(tokens: number, done: (answer: Answer, outcome: Outcome) => void): void {
    const { timeline, upstream } = this;
    const travel = () => uniform(this.random, 8, 18);
    timeline.plan(timeline.nowMs + travel(), () => {
      const answer = upstream.arrive(timeline.nowMs, tokens);
      timeline.plan(timeline.nowMs + answer.tookMs, () => {
        if (answer.accepted) upstream.leave();
        const reading = upstream.headers(timeline.nowMs);
        const outcome: Outcome = {
          kind: answer.accepted ? 'ok' : 'throttled',
          status: answer.accepted ? 200 : 429,
          ...(reading && { reading }),
          ...(answer.retryAfterMs !== undefined && { retryAfterMs: answer.retryAfterMs }),
          ...(this.scenario.tokens && answer.accepted && { tokens }),
        };
        timeline.plan(timeline.nowMs + travel(), () => {
          if (!answer.accepted) this.refused += 1;
          done(answer, outcome);
        });
      });
    });
  }

  drawTokens(): number {
    const { tokens } = this.scenario;
    return tokens ? Math.max(1, Math.round(lognormal(this.random, tokens.mean, tokens.cv))) : 0;
  }
}

/** One instance of the bouncer: its queue, what is in flight, and its limiter. */
class Gate {
  #queue: Worker[] = [];
  #inFlight = 0;
  #sequence = 0;
  #wakeAtMs = Infinity;
  #limiter: Limiter;

  constructor(
    readonly world: World,
    readonly index: number,
    readonly options: { readonly make: MakeLimiter; readonly random: Random },
  ) {
    this.#limiter = options.make({ nowMs: this.#nowMs, random: options.random });
  }

  join(worker: Worker): void {
    worker.tokens = this.world.drawTokens();
    this.#queue.push(worker);
    this.#admit();
  }

  /** Killed and started again: leases survive, of the limiter what it saved. */
  restart(): void {
    const saved = this.#limiter.save?.(this.#nowMs);
    this.#limiter = this.options.make({ nowMs: this.#nowMs, random: this.options.random, saved });
    this.#admit();
  }

  get #nowMs(): number {
    return EPOCH_MS + Math.floor(this.world.timeline.nowMs);
  }

  #admit(): void {
    const nowMs = this.#nowMs;
    if (this.#limiter.dueAtMs <= nowMs) this.#limiter.advance(nowMs);
    while (this.#queue.length > 0 && this.#inFlight < this.#limiter.limit) {
      const tokens = this.#tokensOf(this.#queue[0]!);
      const opening = this.#limiter.opening(nowMs, tokens, 0);
      if (opening.kind === 'shut') {
        this.#wake(opening.atMs);
        break;
      }
      this.#start(this.#queue.shift()!, tokens);
    }
    this.#wake(this.#limiter.dueAtMs);
  }

  #tokensOf(worker: Worker): number {
    return this.world.scenario.tokens?.estimate ?? worker.tokens;
  }

  #wake(atMs: number): void {
    if (atMs >= this.#wakeAtMs || atMs === Infinity) return;
    this.#wakeAtMs = atMs;
    this.world.timeline.plan(Math.max(atMs, this.#nowMs + 1) - EPOCH_MS, () => {
      if (this.#wakeAtMs !== atMs) return;
      this.#wakeAtMs = Infinity;
      this.#admit();
    });
  }

  #start(worker: Worker, tokens: number): void {
    this.#inFlight += 1;
    this.#sequence += 1;
    const start: Start = {
      sequence: this.#sequence,
      inFlight: this.#inFlight,
      atMs: this.#nowMs,
      tokens,
    };
    const { timeline, scenario, random } = this.world;
    this.#limiter.started(this.#nowMs, start);
    const startMs = timeline.nowMs;
    if (scenario.lost && random() < scenario.lost.share) {
      this.world.call(worker.tokens, () => {});
      timeline.plan(startMs + scenario.lost.termMs, () => {
        this.#end(start, { kind: 'lapsed' });
        this.join(worker);
      });
      return;
    }
    this.#send(worker, { start, startMs, isTroubled: false });
  }

  #send(worker: Worker, held: { start: Start; startMs: number; isTroubled: boolean }): void {
    const { timeline, scenario, random } = this.world;
    const sentMs = timeline.nowMs;
    this.world.call(worker.tokens, (answer, outcome) => {
      if (answer.accepted) {
        worker.attempt = 0;
        this.world.successes.push({
          atMs: timeline.nowMs,
          latencyMs: timeline.nowMs - held.startMs,
          instance: this.index,
          client: worker.client,
        });
        const firstByteMs = Math.round(timeline.nowMs - sentMs);
        const kind = held.isTroubled ? 'throttled' : 'ok';
        this.#end(held.start, { ...outcome, kind, ...(scenario.proxied && { firstByteMs }) });
        timeline.plan(timeline.nowMs + uniform(random, 0, 20), () => this.join(worker));
        return;
      }
      const backoffMs = Math.min(BACKOFF_MS_MAX, BACKOFF_FIRST_MS * 2 ** worker.attempt);
      const waitMs = Math.max(answer.retryAfterMs ?? 0, uniform(random, 0, backoffMs));
      worker.attempt += 1;
      if (scenario.retriesInLease) {
        const again = { ...held, isTroubled: true };
        timeline.plan(timeline.nowMs + waitMs, () => this.#send(worker, again));
        return;
      }
      this.#end(held.start, outcome);
      timeline.plan(timeline.nowMs + waitMs, () => this.join(worker));
    });
  }

  #end(start: Start, outcome: Outcome): void {
    this.#inFlight -= 1;
    this.#limiter.ended(this.#nowMs, start, outcome);
    this.#admit();
  }
}
