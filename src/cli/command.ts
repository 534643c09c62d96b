/**
 * A command of the program: one file each, listed in the table. A command adds itself to the
 * program; what it needs of the outside it takes from `Deno` here and nowhere deeper.
 */
import type { Command as Program } from 'commander';

export interface Command {
  readonly add: (program: Program) => void;
}

/** Exit codes, as the README lists them. */
export const EXIT = {
  ok: 0,
  failed: 1,
  /** A flag, variable or configuration file that is not right; nothing was changed. */
  usage: 2,
  /** Another server owns the database. */
  owned: 3,
  /** The database is damaged, too new or may not be opened; it was left as it is. */
  database: 4,
  /** The server said no. */
  refused: 5,
  /** No server answers. */
  unreachable: 6,
  /** `run`: no slot within the wait. */
  noSlot: 75,
  /** `run`: the lease was lost, and the command ended. */
  lost: 124,
  /** `run`: the command cannot be started, or there is none of this name. */
  notExecutable: 126,
  notFound: 127,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** Ends a command with one line for the person who ran it. */
export class Stop extends Error {
  override name = 'Stop';
  readonly exit: ExitCode;

  constructor(exit: ExitCode, line: string) {
    super(line);
    this.exit = exit;
  }
}

const encoder = new TextEncoder();

/** Prints a line on standard output. */
export function print(line: string): void {
  writeAll(Deno.stdout, `${line}\n`);
}

/** Prints a line on standard error. */
export function printError(line: string): void {
  writeAll(Deno.stderr, `${line}\n`);
}

function writeAll(out: typeof Deno.stdout, text: string): void {
  const bytes = encoder.encode(text);
  for (let at = 0; at < bytes.length;) at += out.writeSync(bytes.subarray(at));
}
