/** A shell command that shows when it worked last, it or anything that it started. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { sleep } from './process.ts';

let files = 0;

export class Ticker {
  readonly command: readonly string[];
  readonly #path: string;

  /** @param trap shell words that the command begins with. */
  constructor(folder: string, trap = '') {
    this.#path = join(folder, `ticks${files++}`);
    const path = this.#path;
    // Whoever stops a test by force must not leave it behind for ever. Each has a file of its own
    // to write: what one has just emptied, the other would put in place.
    const loop = (name: string) =>
      `${trap} n=0; while [ $((n += 1)) -lt 1200 ]; do ` +
      `date +%s%3N > ${path}.${name}; mv ${path}.${name} ${path}; sleep 0.05; done`;
    this.command = ['sh', '-c', `echo $$ > ${path}.pid; (${loop('child')}) & ${loop('self')}`];
  }

  /** Epoch ms of its last sign of life; 0: none yet. */
  get lastMs(): number {
    return existsSync(this.#path) ? Number(readFileSync(this.#path, 'utf8')) : 0;
  }

  async begun(): Promise<void> {
    while (this.lastMs === 0) await sleep(20);
  }

  /** Signals its whole group. */
  signal(name: NodeJS.Signals): void {
    process.kill(-Number(readFileSync(`${this.#path}.pid`, 'utf8')), name);
  }
}
