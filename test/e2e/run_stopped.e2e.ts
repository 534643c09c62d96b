/** `nthbouncer run` that is stopped, or whose command is, and goes on before or after its term. */
import { describe, expect, it } from 'vitest';
import { sleep } from './process.ts';
import { pool, run, server, TERM_MS } from './run_stage.ts';
import { Ticker } from './ticker.ts';

/** A run of its own, once its command works. */
async function ticking(trap = '') {
  const ticker = new Ticker(server.folder, trap);
  const running = run(['--wait', '20s'], ticker.command);
  await ticker.begun();
  return { ticker, running };
}

/** When the lease ends at the earliest, unless it is renewed. */
const deadline = async () => Math.max(...await pool.deadlines());

/** Whether nothing of the command works any more. */
async function isStill(ticker: Ticker): Promise<boolean> {
  const { lastMs } = ticker;
  await sleep(300);
  return ticker.lastMs === lastMs;
}

describe('run that is stopped', () => {
  it.each(['SIGSTOP', 'SIGKILL'] as const)(
    'by %s leaves no command beyond the lease, and the next holder works after it',
    async (signal) => {
      const { ticker, running } = await ticking();
      const next = new Ticker(server.folder);
      const waiting = run(['--wait', '20s'], next.command);
      running.process.kill(signal);
      await sleep(500);
      const endsAtMs = await deadline();
      expect(ticker.lastMs).toBeGreaterThan(Date.now() - 400);
      await next.begun();
      const { lastMs } = ticker;
      expect(lastMs).toBeLessThan(endsAtMs);
      expect(next.lastMs).toBeGreaterThan(lastMs);
      running.process.kill('SIGCONT');
      expect((await running.finished).code).toBe(signal === 'SIGKILL' ? null : 124);
      expect(ticker.lastMs).toBe(lastMs);
      expect(await isStill(next)).toBe(false);
      waiting.process.kill('SIGTERM');
      await waiting.finished;
    },
  );

  it('for a moment only goes on, and holds its slot all the while', async () => {
    const { ticker, running } = await ticking();
    running.process.kill('SIGSTOP');
    await sleep(800);
    running.process.kill('SIGCONT');
    await sleep(1_000);
    expect(await deadline()).toBeGreaterThan(Date.now() + TERM_MS / 2);
    expect(await isStill(ticker)).toBe(false);
    running.process.kill('SIGTERM');
    await running.finished;
  });

  it('with its command leaves nothing that would go on when both are back', async () => {
    const { ticker, running } = await ticking('trap "" TERM;');
    running.process.kill('SIGSTOP');
    ticker.signal('SIGSTOP');
    await sleep(await deadline() - Date.now() + 200);
    const { lastMs } = ticker;
    running.process.kill('SIGCONT');
    const { code, err } = await running.finished;
    expect({ code, err }).toEqual({ code: 124, err: expect.stringContaining('must end') });
    expect(await isStill(ticker)).toBe(true);
    expect(ticker.lastMs).toBe(lastMs);
  });
}, 30_000);

describe('a command that is stopped', () => {
  it('keeps its slot beyond the term, and goes on', async () => {
    const { ticker, running } = await ticking('trap "exit 3" USR1;');
    ticker.signal('SIGSTOP');
    await sleep(TERM_MS + 1_000);
    expect(await isStill(ticker)).toBe(true);
    expect(await deadline()).toBeGreaterThan(Date.now());
    ticker.signal('SIGCONT');
    await sleep(500);
    expect(await isStill(ticker)).toBe(false);
    running.process.kill('SIGUSR1');
    expect((await running.finished).code).toBe(3);
  });

  it('is ended within the lease when the server is gone', async () => {
    const { ticker, running } = await ticking('trap "" TERM;');
    ticker.signal('SIGSTOP');
    const endsAtMs = await deadline();
    await server.stop('SIGKILL');
    expect((await running.finished).code).toBe(124);
    expect(await isStill(ticker)).toBe(true);
    // Told to end, it was let go on to do so.
    expect(ticker.lastMs).toBeLessThan(endsAtMs);
    await server.start();
  });
}, 30_000);
