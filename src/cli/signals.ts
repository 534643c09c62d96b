/**
 * What becomes of the signals that `run` gets. While it waits, one of them gives the wait up; once
 * its command runs they are handed on to the command's whole group, and a second Ctrl-C within two
 * seconds kills it. No moment is left in which a signal would end this process alone.
 */
import { printError } from './command.ts';
import type { ProcessGroup } from './process_group.ts';

const FORWARDED: readonly Deno.Signal[] = [
  'SIGINT',
  'SIGTERM',
  'SIGHUP',
  'SIGQUIT',
  'SIGUSR1',
  'SIGUSR2',
  'SIGWINCH',
];
const ENDING: readonly Deno.Signal[] = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'];
const TWICE_MS = 2_000;

export class Signals {
  readonly #given = new AbortController();
  #group: Pick<ProcessGroup, 'signal'> | null = null;
  #interruptedAtMs = -Infinity;

  constructor() {
    for (const name of FORWARDED) Deno.addSignalListener(name, () => this.heard(name));
    // Stopped, this process could not renew.
    Deno.addSignalListener('SIGTSTP', () => {
      printError('nthbouncer: not stopped, since it holds or awaits a slot');
    });
  }

  /** Aborts with the signal's name when the wait is to be given up. */
  get given(): AbortSignal {
    return this.#given.signal;
  }

  /** Hands signals on from now on, and the one that came just before. */
  forwardTo(group: Pick<ProcessGroup, 'signal'>): void {
    this.#group = group;
    if (this.given.aborted) group.signal(this.given.reason);
  }

  heard(name: Deno.Signal): void {
    if (this.#group === null) {
      if (ENDING.includes(name)) this.#given.abort(name);
      return;
    }
    const nowMs = performance.now();
    const isSecond = name === 'SIGINT' && nowMs - this.#interruptedAtMs <= TWICE_MS;
    if (name === 'SIGINT') this.#interruptedAtMs = nowMs;
    this.#group.signal(isSecond ? 'SIGKILL' : name);
  }
}
