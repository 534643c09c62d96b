/**
 * The acquires under way in one life of the server, in the order in which they arrived, as their
 * callers see them: who still waits, who hung up, and what each was answered. Of those under one
 * key the first alone stands in line; the others are repeats of it.
 */
import type { Door } from '../../src/core/lease.ts';
import type { Pool } from '../../src/core/pool.ts';
import type { LeaseRecord } from './ledger.ts';

export type Answer = 'granted' | 'refused' | 'refused by the rate';

export interface Call {
  /** Its label as a holder, by which its lease is known. */
  readonly label: string;
  readonly order: number;
  readonly poolName: string;
  /** The very pool that was asked: one that was deleted and made again is another. */
  readonly pool: Pool;
  readonly door: Door;
  readonly slots: number;
  readonly sentAtMs: number;
  /** The wait that was asked for, clamped as the pool's settings said then. */
  readonly budgetMs: number;
  /** Its Idempotency-Key, which counts for its pool alone. */
  readonly repeatKey: string | null;
  readonly caller: AbortController;
  /** The lease that the core gave it, before anyone was told. */
  lease: LeaseRecord | null;
  answer: Answer | null;
}

export class Calls {
  readonly #life: number;
  readonly #byLabel = new Map<string, Call>();
  readonly #open = new Set<Call>();
  readonly #repeats = new Set<Call>();
  /** The latest that asked for itself under a key. */
  readonly #firsts = new Map<string, Call>();
  #order = 0;

  /** @param life which life of the server it is, so that no label is used twice. */
  constructor(life: number) {
    this.#life = life;
  }

  begin(call: Omit<Call, 'label' | 'order' | 'lease' | 'answer' | 'caller'>): Call {
    const order = this.#order++;
    const open: Call = {
      ...call,
      label: `${this.#life}/${order}`,
      order,
      caller: new AbortController(),
      lease: null,
      answer: null,
    };
    this.#byLabel.set(open.label, open);
    this.#open.add(open);
    return open;
  }

  of(label: string | null): Call | undefined {
    return this.#byLabel.get(label ?? '');
  }

  /** A call under a key that took no place of its own repeats another, or was refused at once. */
  sort(call: Call): void {
    const holders = [...call.pool.queue].map(({ ask }) => ask.holder);
    for (const { holder } of call.pool.leases.values()) holders.push(holder);
    if (holders.includes(call.label)) {
      this.#firsts.set(nameOf(call), call);
    } else {
      this.#open.delete(call);
      this.#repeats.add(call);
    }
  }

  isRepeat(call: Call): boolean {
    return this.#repeats.has(call);
  }

  /** Whether its wait is over, or that of the one that it repeats. A timer may be 1 ms early. */
  isOver(call: Call, nowMs: number): boolean {
    return [call, this.#firsts.get(nameOf(call)) ?? call].some(({ sentAtMs, budgetMs }) =>
      nowMs >= sentAtMs + budgetMs - 1
    );
  }

  /** Repeats in the pool of calls that stand in line. */
  joined(pool: Pool): Call[] {
    return [...this.#repeats].filter((call) => {
      const first = this.#firsts.get(nameOf(call));
      return call.pool === pool && first?.lease === null && first.answer === null;
    });
  }

  answered(call: Call, answer: Answer): void {
    call.answer = answer;
    this.#open.delete(call);
    this.#repeats.delete(call);
  }

  /** All without an answer, in the order of their arrival, and then the repeats. */
  open(): readonly Call[] {
    return [...this.#open, ...this.#repeats];
  }

  /** Those of the pool that stand in line: not answered, not granted, not hung up. */
  waiting(pool: Pool): Call[] {
    return [...this.#open].filter((call) => call.pool === pool && call.lease === null);
  }
}

function nameOf({ poolName, repeatKey }: Call): string {
  return `${poolName} ${repeatKey}`;
}
