/**
 * The acquires under way in one life of the server, in the order in which they arrived, as their
 * callers see them: who still waits, who hung up, and what each was answered.
 */
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
  readonly slots: number;
  readonly sentAtMs: number;
  /** The wait that was asked for, clamped as the pool's settings said then. */
  readonly budgetMs: number;
  readonly caller: AbortController;
  /** The lease that the core gave it, before anyone was told. */
  lease: LeaseRecord | null;
  answer: Answer | null;
}

export class Calls {
  readonly #life: number;
  readonly #byLabel = new Map<string, Call>();
  readonly #open = new Set<Call>();
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

  answered(call: Call, answer: Answer): void {
    call.answer = answer;
    this.#open.delete(call);
  }

  /** All without an answer, in the order of their arrival. */
  open(): readonly Call[] {
    return [...this.#open];
  }

  /** Those of the pool that stand in line: not answered, not granted, not hung up. */
  waiting(pool: Pool): Call[] {
    return this.open().filter((call) => call.pool === pool && call.lease === null);
  }
}
