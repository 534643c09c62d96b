/**
 * What of the attempts is written to the access log: every grant, and refusals up to a rate, beyond
 * which those of one pool and code are counted in one summary row a second. A flood of refusals
 * must cost the database a bounded amount.
 */
import type { LogEntry } from '../store/entry.ts';
import type { Clock } from './clock.ts';
import type { Journal } from './journal.ts';

const ROWS_PER_SECOND = 100;
const SECOND_MS = 1000;

interface Tally {
  rows: number;
  /** The last entry that got no row of its own, and how many it stands for. */
  last: LogEntry | null;
  count: number;
}

export class AccessLog {
  readonly #journal: Pick<Journal, 'log'>;
  readonly #clock: Clock;
  #tallies = new Map<string, Tally>();

  constructor(journal: Pick<Journal, 'log'>, clock: Clock) {
    this.#journal = journal;
    this.#clock = clock;
  }

  grant(entry: LogEntry): void {
    this.#journal.log(entry);
  }

  refuse(entry: LogEntry): void {
    const name = `${entry.pool} ${entry.outcome}`;
    let tally = this.#tallies.get(name);
    if (tally === undefined) {
      if (this.#tallies.size === 0) this.#clock.after(SECOND_MS, () => this.#summarise());
      tally = { rows: 0, last: null, count: 0 };
      this.#tallies.set(name, tally);
    }
    if (tally.rows < ROWS_PER_SECOND) {
      tally.rows++;
      this.#journal.log(entry);
    } else {
      tally.last = entry;
      tally.count++;
    }
  }

  #summarise(): void {
    const tallies = this.#tallies;
    this.#tallies = new Map();
    for (const { last, count } of tallies.values()) {
      if (last === null) continue;
      this.#journal.log({
        ...last,
        keyId: null,
        address: null,
        holder: null,
        queuedMs: 0,
        count,
      });
    }
  }
}
