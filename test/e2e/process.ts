/** The program in a process of its own, for what only a whole process can show. */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { afterEach } from 'vitest';
import { watch } from './canary.ts';

const DENO = 'node_modules/.bin/deno';

export interface Ended {
  readonly code: number | null;
  readonly out: string;
}

/** A server that listens, or whatever came of the attempt. */
export class Running {
  readonly #child: ChildProcess;
  readonly ended: Promise<Ended>;
  /** All that it printed on both channels. */
  out = '';

  constructor(
    args: readonly string[],
    env: Record<string, string> = {},
    flags: readonly string[] = ['-A'],
  ) {
    this.#child = spawn(DENO, ['run', ...flags, 'src/main.ts', ...args], {
      env: { ...process.env, NO_COLOR: '1', ...env },
      // A group of its own: the launcher starts the runtime as its child.
      detached: true,
    });
    watch(this.#child, args);
    this.#child.stdout?.on('data', (text) => this.out += text);
    this.#child.stderr?.on('data', (text) => this.out += text);
    this.ended = new Promise((done) =>
      this.#child.on('close', (code) => done({ code, out: this.out }))
    );
    running.add(this);
  }

  /** The origin, once it listens. */
  async listening(): Promise<string> {
    for (let i = 0; i < 400; i++) {
      const origin = this.out.match(/listening on (\S+)/)?.[1];
      if (origin !== undefined) return origin;
      const isOver = await Promise.race([this.ended.then(() => true), pause(50)]);
      if (isOver === true) break;
    }
    throw new Error(`it does not listen: ${this.out}`);
  }

  async stop(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<Ended> {
    try {
      process.kill(-(this.#child.pid ?? NaN), signal);
    } catch { /* it has ended */ }
    return await this.ended;
  }
}

const running = new Set<Running>();
afterEach(async () => {
  for (const one of running) await one.stop('SIGKILL');
  running.clear();
});

/** Runs a command to its end. */
export function run(args: readonly string[], env: Record<string, string> = {}): Promise<Ended> {
  return new Running(args, env).ended;
}

function pause(ms: number): Promise<void> {
  return new Promise((done) => setTimeout(done, ms));
}
