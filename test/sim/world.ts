/**
 * The whole simulated world: one machine, one disk, the server's process or its absence, callers
 * and an oracle. It offers the steps of which a simulation is made; chance decides only through the
 * one seeded source.
 */
import { InvariantError } from '../../src/core/assert.ts';
import type { Door } from '../../src/core/lease.ts';
import type { Verdict } from '../../src/scheduler/verdict.ts';
import { PoolSpec } from '../../src/wire.ts';
import { presenceOf } from '../support/presence.ts';
import type { Call } from './calls.ts';
import { checkBelief } from './checks.ts';
import { Disk } from './disk.ts';
import { Holders } from './holders.ts';
import type { LeaseRecord } from './ledger.ts';
import { Life } from './life.ts';
import { Machine } from './machine.ts';
import { Oracle } from './oracle.ts';
import { Random } from './random.ts';
import { Tally } from './tally.ts';
import { claim, Violation } from './violation.ts';
import { Weather } from './weather.ts';

export const POOLS = ['a', 'b', 'c'] as const;
/** The pool whose limit moves by itself. */
const ADAPTIVE = 'c';
const ADAPTIVE_MAX = 4;
/** The pool with an operator's rate. */
const RATED = 'b';
const RPM = 300;

/** Keys that may be asked under again. */
const KEYS_MAX = 12;

/** Whom an answer goes to: the caller of one life of the server. */
interface To {
  readonly life: Life;
  readonly call: Call;
  readonly told: (record: LeaseRecord) => void;
}

export class World {
  readonly random: Random;
  readonly machine: Machine;
  readonly tally: Tally;
  readonly weather: Weather;
  readonly oracle: Oracle;
  readonly holders: Holders;
  readonly disk = new Disk();
  life: Life | null = null;
  /** How likely a crash is after each event. */
  crashChance = 0;
  /** The newest last. */
  readonly keys: { poolName: string; repeatKey: string }[] = [];
  #broken: unknown = null;

  /** @param trace is told what happens, and when. */
  constructor(seed: number, trace?: (atMs: number, name: string) => void) {
    const random = new Random(seed);
    const machine = new Machine(random);
    const tally = new Tally((name) => trace?.(machine.nowMs, name));
    const { disk } = this;
    this.random = random;
    this.tally = tally;
    const weather = new Weather(machine, random, tally);
    this.machine = machine;
    this.weather = weather;
    this.oracle = new Oracle({ disk, machine, weather, tally });
    const { ledger } = this.oracle;
    this.holders = new Holders({ machine, random, tally, ledger, life: () => this.life });
  }

  /** Lets time pass; throws what broke meanwhile. */
  async pass(spanMs: number): Promise<void> {
    await this.machine.pass(spanMs, (isQuiet) => {
      if (this.#broken !== null) throw this.#broken;
      if (this.life !== null && this.random.chance(this.crashChance)) {
        this.tally.note('fault: crash between two events');
        this.crash(this.random.whole(0, 50));
      }
      if (this.life !== null) this.oracle.look(this.life, isQuiet);
      else checkBelief(this.oracle.ledger.believed(this.machine.nowMs));
    });
  }

  start(): void {
    const { disk, machine, weather, random, tally } = this;
    this.life = new Life({
      disk,
      machine,
      weather,
      random,
      events: {
        lapsed: () => tally.note('slots that lapsed'),
        storeFailing: () => tally.note('the store began to fail, or failed again'),
        storeRecovered: () => tally.note('the store recovered'),
        storeLost: () => this.#break(new Violation('another server has the database')),
        broken: (error) => this.#break(error),
      },
    });
    this.oracle.began(this.life);
  }

  /** Kills the process; answers on their way may still arrive. */
  crash(downMs: number): void {
    if (this.life === null) return;
    this.life.end(this.random);
    this.life = null;
    this.oracle.died();
    this.machine.after(downMs, () => this.start());
  }

  /** Ends the process as a signal does, and starts the next one. */
  async stop(downMs: number): Promise<void> {
    const { life } = this;
    if (life === null) return;
    life.scheduler.drain();
    await life.scheduler.journal.settled();
    if (this.life !== life) return;
    life.scheduler.close();
    this.crash(downMs);
  }

  jump(ms: number): void {
    this.machine.jump(ms);
    this.oracle.jumped();
  }

  /** One acquire; its answer travels back, or gets lost when the process dies meanwhile. */
  acquire(
    poolName: string,
    ask: { waitMs: number; slots: number; door?: Door; repeatKey?: string },
    told = (record: LeaseRecord) => this.holders.told(record),
  ): Call | null {
    const { life, machine } = this;
    const entry = life?.directory.get(poolName);
    if (life === null || entry === undefined) return null;
    const { scheduler } = life;
    const { pool } = entry;
    const { waitMs, slots, door = 'lock', repeatKey = null } = ask;
    const budgetMs = Math.min(waitMs, pool.settings.queue.timeoutMs);
    const sentAtMs = machine.nowMs;
    const asked = { poolName, pool, door, slots, sentAtMs, budgetMs, repeatKey };
    const call = this.oracle.calls.begin(asked);
    // Proxied slots are in memory alone, and go on.
    const isFailing = scheduler.journal.isFailing && door === 'lock';
    const wanted = {
      door,
      waitMs,
      slots,
      tokens: 0,
      keyId: null,
      signer: null,
      holder: call.label,
      address: null,
      presence: presenceOf(call.caller.signal),
    } as const;
    const { calls } = this.oracle;
    life.repeats.acquire(pool, wanted, repeatKey).then((verdict) => {
      const isKnown = verdict.kind === 'refused' || calls.isRepeat(call);
      claim(!isFailing || isKnown, 'a failing store grants nothing');
      if (!life.isOver) this.#answer({ life, call, told }, verdict);
    }).catch((error) => this.#break(error));
    if (repeatKey !== null) calls.sort(call);
    return call;
  }

  /** A key for one more acquire, under which it may be repeated. */
  makeKey(poolName: string): string {
    const repeatKey = String(this.random.whole(0, 2 ** 40));
    this.keys.push({ poolName, repeatKey });
    if (this.keys.length > KEYS_MAX) this.keys.shift();
    return repeatKey;
  }

  /** The way of a verdict back to the caller. */
  #answer(to: To, verdict: Verdict): void {
    const { life, call, told } = to;
    const { machine, oracle, random, tally } = this;
    if (verdict.kind === 'refused') {
      const isLate = call.lease !== null && call.caller.signal.aborted;
      if (isLate) tally.note('grants whose caller had hung up');
      const isEarly = verdict.code === 'queue_timeout' && !call.caller.signal.aborted &&
        !oracle.calls.isOver(call, machine.nowMs);
      claim(!isEarly, 'nobody who is there is sent away before a budget ends', call.label);
      oracle.calls.answered(call, verdict.reason === 'rate' ? 'refused by the rate' : 'refused');
      tally.note(`refused: ${verdict.code}${verdict.reason ? ` (${verdict.reason})` : ''}`);
      return;
    }
    const isRepeat = oracle.calls.isRepeat(call);
    if (isRepeat) tally.note('repeats that were told of a grant');
    oracle.calls.answered(call, 'granted');
    const record = oracle[isRepeat ? 'repeated' : 'answered'](life, call, verdict);
    if (record === null) return;
    const isProxied = record.door === 'proxy';
    // As the proxy does, once it sees that nobody is there to forward for.
    if (call.caller.signal.aborted && isProxied) {
      tally.note('grants whose caller had hung up');
      const isReleased = life.scheduler.release(call.pool, record.slotId, { kind: 'unknown' });
      if (isReleased) oracle.ledger.end(record, 'release');
      return;
    }
    machine.after(random.whole(0, 20), () => {
      const isLost = (life.isOver && random.chance(0.5)) || call.caller.signal.aborted;
      // A proxied request needs no answer to have begun: it ends by itself.
      if (isLost && !isProxied) {
        return tally.note('answers that got lost');
      }
      told(record);
    });
  }

  /** Makes the pool, or gives it a limit, as an operator does. */
  async put(poolName: string, limit: number): Promise<void> {
    const { life, oracle, random } = this;
    if (life === null) return;
    const { directory } = life;
    const known = directory.get(poolName)?.spec;
    const termMs = 1000 + 250 * random.whole(0, 4);
    const spec = PoolSpec.parse({
      name: poolName,
      concurrency: poolName === ADAPTIVE
        ? { limit, mode: 'adaptive', min: 1, max: ADAPTIVE_MAX }
        : { limit },
      queue: known?.queue ?? { maxDepth: random.whole(0, 6), timeoutMs: random.whole(300, 3000) },
      lease: known?.lease ?? { termMs, requestTimeoutMs: random.whole(1000, 5000) },
      rate: poolName === RATED ? { learn: false, rpm: RPM, burst: 2 } : { learn: false },
    });
    await this.#change('put', async () => {
      await directory.put(spec);
      oracle.removals.delete(poolName);
    });
  }

  async remove(poolName: string): Promise<void> {
    const { life } = this;
    if (life === null) return;
    await this.#change('delete', () => {
      const entry = life.directory.get(poolName);
      if (entry === undefined) return Promise.resolve();
      this.oracle.removals.add(poolName);
      return life.directory.remove(entry);
    });
  }

  /** Pauses the pool for so long (Infinity: until resumed), or resumes it (null). */
  async pause(poolName: string, spanMs: number | null): Promise<void> {
    const { life } = this;
    if (life === null) return;
    await this.#change(spanMs === null ? 'resume' : 'pause', () => {
      const entry = life.directory.get(poolName);
      if (entry === undefined) return Promise.resolve();
      const untilMs = life.scheduler.clock.nowMs() + (spanMs ?? 0);
      const pause = spanMs === null ? null : { untilMs, reason: null };
      return life.directory.setPause(entry, pause);
    });
  }

  /** A change that the store refuses changes nothing. */
  async #change(name: string, change: () => Promise<unknown>): Promise<void> {
    const { life, tally } = this;
    try {
      await life?.directory.inTurn(change);
      tally.note(`operator: ${name}`);
    } catch (error) {
      if (error instanceof InvariantError || error instanceof Violation) return this.#break(error);
      tally.note(`operator: ${name} refused by the store`);
    }
  }

  #break(error: unknown): void {
    this.#broken ??= error;
  }
}
