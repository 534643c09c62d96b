/**
 * One pool of two slots and three places in its queue, with a few steps that can be taken in any
 * order. After each step it checks what must hold whatever was done before.
 */
import type { Lease } from '../../src/core/lease.ts';
import type { Waiter } from '../../src/core/queue.ts';
import { Bench } from '../support/bench.ts';
import { settings } from '../support/pools.ts';

const TERM_MS = 100;
const LIMITS = [1, 2, 3];

/** What can be done; a step that is not possible now returns false and changes nothing. */
export const STEPS: Readonly<Record<string, (tiny: TinyPool) => boolean>> = {
  'acquire': (tiny) => tiny.acquire(0, 1),
  'acquire 2': (tiny) => tiny.acquire(0, 2),
  'wait': (tiny) => tiny.acquire(1000, 1),
  'wait for 2': (tiny) => tiny.acquire(150, 2),
  'release oldest': (tiny) => tiny.withLease((lease) => tiny.bench.release(lease)),
  'renew oldest': (tiny) => tiny.withLease((lease) => tiny.bench.renew(lease)),
  'withdraw first': (tiny) => tiny.withdraw(tiny.line[0]),
  'withdraw last': (tiny) => tiny.line.length > 1 && tiny.withdraw(tiny.line.at(-1)),
  'a term passes': (tiny) => (tiny.bench.pass(TERM_MS), true),
  'lower': (tiny) => tiny.setLimit(-1),
  'raise': (tiny) => tiny.setLimit(1),
};

export class TinyPool {
  readonly bench = new Bench();
  /** Who stands in line, by what was answered alone. */
  line: Waiter[] = [];
  readonly #withdrawn = new Set<Waiter>();
  #limit = 2;
  #begun = 0;
  #known = 0;

  /** Takes a step and checks; false where it is not possible now. */
  take(name: string): boolean {
    const isTaken = (STEPS[name] as (tiny: TinyPool) => boolean)(this);
    if (isTaken) this.#check();
    return isTaken;
  }

  acquire(waitMs: number, slots: number): boolean {
    const { bench } = this;
    const isFree = bench.pool.queue.length === 0 && bench.pool.fits(slots);
    const admission = bench.acquire({ waitMs, slots });
    if (admission.kind === 'queued') this.line.push(admission.waiter);
    const isGranted = admission.kind === 'granted';
    demand(isGranted === (isFree && slots <= this.#limit), 'granted if and only if free');
    return true;
  }

  withLease(use: (lease: Lease) => unknown): boolean {
    const [lease] = this.bench.pool.leases.values();
    if (lease === undefined) return false;
    use(lease);
    return true;
  }

  withdraw(waiter: Waiter | undefined): boolean {
    if (waiter === undefined) return false;
    this.bench.bouncer.withdraw(this.bench.nowMs, waiter);
    this.#withdrawn.add(waiter);
    this.line = this.line.filter((other) => other !== waiter);
    return true;
  }

  setLimit(by: number): boolean {
    const limit = this.#limit + by;
    if (!LIMITS.includes(limit)) return false;
    this.#limit = limit;
    this.bench.configure(settings({ limit }));
    return true;
  }

  #check(): void {
    const { bench } = this;
    const { pool, settled } = bench;
    const leases = [...pool.leases.values()];
    const inUse = leases.reduce((sum, { slots }) => sum + slots, 0);
    demand(pool.inUse === inUse, 'in use is the sum');
    const hasGranted = bench.begun.length > this.#begun;
    this.#begun = bench.begun.length;
    if (hasGranted) demand(inUse <= this.#limit || leases.length === 1, 'no grant over the limit');
    demand(new Set(bench.ended).size === bench.ended.length, 'a lease ends once');
    demand(bench.begun.length === bench.ended.length + leases.length, 'each lease is somewhere');
    for (const lease of bench.lapsed) {
      demand(lease.dueAtMs <= bench.nowMs, 'no reclaim before the deadline');
    }
    demand(leases.every(({ dueAtMs }) => dueAtMs > bench.nowMs), 'no lease past its deadline');
    this.#checkLine();
    demand(settled.size >= this.#known, 'what is settled stays settled');
    this.#known = settled.size;
  }

  /** The line: who was granted stood before all who still wait. */
  #checkLine(): void {
    const { bench } = this;
    const { pool, settled } = bench;
    const stillThere = this.line.filter((waiter) => !settled.has(waiter));
    const granted = this.line.filter((waiter) => settled.get(waiter)?.kind === 'granted');
    for (const waiter of granted) {
      const ahead = this.line.slice(0, this.line.indexOf(waiter));
      demand(ahead.every((other) => settled.has(other)), 'nobody is overtaken');
    }
    this.line = stillThere;
    const queued = [...pool.queue];
    demand(
      queued.length === stillThere.length && queued.every((one, at) => one === stillThere[at]),
      'the queue is the line',
    );
    demand(queued.length <= 3, 'the queue is bounded');
    for (const waiter of this.#withdrawn) demand(!settled.has(waiter), 'who left hears nothing');
    const head = pool.queue.head;
    if (head !== null) demand(!pool.fits(head.ask.slots), 'nobody waits beside free slots');
    demand(queued.every(({ dueAtMs }) => dueAtMs > bench.nowMs), 'no wait past its budget');
    demand(queued.every(({ ask }) => ask.slots <= this.#limit), 'nobody waits for ever');
  }
}

function demand(condition: boolean, what: string): void {
  if (!condition) throw new Error(`broken: ${what}`);
}
