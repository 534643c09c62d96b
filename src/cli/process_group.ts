/**
 * A command with a process group (and session) of its own, so that all it started can be signalled
 * at once and nothing reaches it from the terminal but through us; and the guard, a shell that
 * kills the group when nobody tells it in time that the lease goes on. The guard works even where
 * this process is stopped or killed.
 */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';

export interface Ended {
  /** As a shell tells it: the exit code, or 128 and the number of the signal. */
  readonly exitCode: number;
}

export class ProcessGroup {
  readonly pid: number;
  readonly ended: Promise<Ended>;

  private constructor(child: ChildProcess, pid: number) {
    this.pid = pid;
    this.ended = new Promise((done) => {
      child.once('exit', (code, signal) => done({ exitCode: code ?? 128 + numberOf(signal) }));
    });
  }

  /** @throws the error of the system: `ENOENT` where there is no such command. */
  static start(command: readonly string[], env: Record<string, string>): Promise<ProcessGroup> {
    const [name = '', ...rest] = command;
    return new Promise((done, fail) => {
      const child = spawn(name, rest, { detached: true, stdio: 'inherit', env });
      child.once('error', fail);
      if (child.pid !== undefined) done(new ProcessGroup(child, child.pid));
    });
  }

  /** Signals every process of the group; false where none is left. */
  signal(name: Deno.Signal): boolean {
    try {
      Deno.kill(-this.pid, name);
      return true;
    } catch {
      return false;
    }
  }

  /** Ends what the command left behind. */
  async sweep(): Promise<void> {
    for (let tries = 0; tries < SWEEP_TRIES; tries++) {
      if (!this.signal('SIGTERM')) return;
      await new Promise((done) => setTimeout(done, SWEEP_MS));
    }
    this.signal('SIGKILL');
  }
}

const SWEEP_TRIES = 5;
const SWEEP_MS = 60;

/**
 * One sleep is the whole time: many short ones would end late where the machine is busy. Beside it
 * the guard looks now and then, and ends (all of it) soon after the group did.
 */
const GUARD_SCRIPT = '(sleep "$2"; kill -KILL "-$1"; kill -KILL 0) & ' +
  'while sleep "$3"; do kill -0 "-$1" 2>/dev/null || kill -KILL 0; done';
const LOOKS = 10;

export class Guard {
  readonly #pid: number;
  #shell: ChildProcess | null = null;

  /** @param pid of the group to kill. */
  constructor(pid: number) {
    this.#pid = pid;
  }

  /** Has the group killed once the time has passed, in place of what was set before. */
  set(afterMs: number): void {
    const before = this.#shell;
    const seconds = (ms: number) => Math.max(0.01, ms / 1_000).toFixed(3);
    const [after, look] = [seconds(afterMs), seconds(afterMs / LOOKS)];
    const env = { PATH: Deno.env.get('PATH') ?? '/usr/bin:/bin' };
    const shell = spawn(
      'sh',
      ['-c', GUARD_SCRIPT, 'nthbouncer-guard', String(this.#pid), after, look],
      { detached: true, stdio: 'ignore', env },
    );
    // Without a shell this process alone watches the lease.
    shell.once('error', () => {});
    shell.unref();
    this.#shell = shell;
    end(before);
  }

  clear(): void {
    end(this.#shell);
    this.#shell = null;
  }
}

/** Ends a guard with the `sleep` that it waits for. */
function end(shell: ChildProcess | null): void {
  if (shell?.pid === undefined || shell.exitCode !== null || shell.signalCode !== null) return;
  try {
    Deno.kill(-shell.pid, 'SIGKILL');
  } catch {
    // It has just ended by itself.
  }
}

const SIGNALS: Readonly<Record<string, number>> = {
  SIGHUP: 1,
  SIGINT: 2,
  SIGQUIT: 3,
  SIGILL: 4,
  SIGABRT: 6,
  SIGFPE: 8,
  SIGKILL: 9,
  SIGUSR1: 10,
  SIGSEGV: 11,
  SIGUSR2: 12,
  SIGPIPE: 13,
  SIGALRM: 14,
  SIGTERM: 15,
};

export function numberOf(signal: string | null): number {
  return SIGNALS[signal ?? ''] ?? 0;
}
