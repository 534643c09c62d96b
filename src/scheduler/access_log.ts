/**
 * What of the attempts is written to the access log: every grant, and refusals up to a rate, beyond
 * which those of one pool and code are counted in one summary row a second. A flood of refusals
 * must cost the database a bounded amount.
 */
import type { LogEntry } from '../store/entry.ts';
import type { Clock, Timer } from './clock.ts';
import type { Journal } from './journal.ts';
import { Tally } from './tally.ts';

const ROWS_PER_SECOND = 100;
const SECOND_MS = 1000;

interface Second {
  rows: number;
  /** The last entry that got no row of its own, and how many it stands for. */
  last: LogEntry | null;
  count: number;
}

export class AccessLog {
  readonly tally = new Tally();
  /** Hears every row that the log will hold, for whoever watches. */
  heard: (entry: LogEntry) => void = () => {};
  readonly #journal: Pick<Journal, 'log'>;
  readonly #clock: Clock;
  #seconds = new Map<string, Second>();
  #timer: Timer | null = null;

  constructor(journal: Pick<Journal, 'log'>, clock: Clock) {
    this.#journal = journal;
    this.#clock = clock;
  }

  /** The row of a grant that is told of when it has ended: it has one, whatever became of it. */
  noteGrant(entry: LogEntry): void {
    this.tally.note(entry);
    this.#write(entry);
  }

  noteRefusal(entry: LogEntry): void {
    this.tally.note(entry);
    const name = `${entry.pool} ${entry.outcome}`;
    let second = this.#seconds.get(name);
    if (second === undefined) {
      this.#timer ??= this.#clock.after(SECOND_MS, () => this.summarise());
      second = { rows: 0, last: null, count: 0 };
      this.#seconds.set(name, second);
    }
    if (second.rows < ROWS_PER_SECOND) {
      second.rows++;
      this.#write(entry);
    } else {
      second.last = entry;
      second.count++;
    }
  }

  /** Writes the summary rows of the second so far; called for the last one before a stop. */
  summarise(): void {
    this.#timer?.cancel();
    this.#timer = null;
    const seconds = this.#seconds;
    this.#seconds = new Map();
    for (const { last, count } of seconds.values()) {
      if (last === null) continue;
      const { proxied: _, ...common } = last;
      this.#write({
        ...common,
        keyId: null,
        address: null,
        holder: null,
        queuedMs: 0,
        count,
      });
    }
  }

  /** Hands over the row of a grant, which is heard once it is durable, and counted once told. */
  keep(entry: LogEntry): void {
    this.#journal.log(entry);
  }

  #write(entry: LogEntry): void {
    this.keep(entry);
    this.heard(entry);
  }
}
