/**
 * The processes that the benchmark measures: the no-op baseline and the server on a fresh database
 * with one wide pool. Each is started by this program and ended by it.
 */
export const ADMIN_TOKEN = 'benchmark-admin-token-0123456789abcdef';

/** As `npm start` does, but for what it may. */
export const SERVE = [
  'run',
  '-A',
  '--v8-flags=--no-allocation-site-pretenuring,--initial-old-space-size=128',
  'src/main.ts',
  'serve',
];

export interface Target {
  readonly origin: string;
  /** What the load script is called with: key, acquire path, stem of the release path. */
  readonly args: readonly [string, string, string];
  readonly end: () => Promise<void>;
  /** Of the server's process. */
  readonly pid: number;
}

export async function startNoop(): Promise<Target> {
  const { origin, end, pid } = await start(['run', '-A', 'test/bench/locks/noop.ts']);
  return { origin, args: ['none', '/noop', '/noop/'], end, pid };
}

/** @param pool what the benchmark's pool has beside its width. */
export async function startServer(folder: string, pool: object = {}): Promise<Target> {
  const db = `file:${folder}/bench.db`;
  const { origin, end, pid } = await start([...SERVE, '--port', '0', '--db', db]);
  await admin(origin, '/pools', { name: 'bench', concurrency: { limit: 100_000 }, ...pool });
  const { key } = await admin(origin, '/pools/bench/keys', { name: 'bench' });
  return { origin, args: [key ?? '', '/pools/bench/lock/acquire', '/pools/bench/lock/'], end, pid };
}

export async function admin(
  origin: string,
  path: string,
  body: object,
): Promise<{ key?: string }> {
  const answer = await fetch(`${origin}/admin/api${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
    body: JSON.stringify(body),
  });
  if (answer.status !== 201) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return await answer.json();
}

/** Starts a program of Deno's, once it says where it listens. */
export async function start(args: string[]): Promise<Omit<Target, 'args'>> {
  const child = new Deno.Command(Deno.execPath(), {
    args,
    env: { NTHBOUNCER_ADMIN_TOKEN: ADMIN_TOKEN, NO_COLOR: '1' },
    stdout: 'piped',
    stderr: 'inherit',
  }).spawn();
  const end = async () => {
    child.kill('SIGKILL');
    await child.status;
  };
  let text = '';
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { value, done } = await reader.read();
    if (done) throw new Error(`${args.join(' ')} ended before it listened: ${text}`);
    text += value;
    const origin = text.match(/listening on (\S+)/)?.[1];
    if (origin !== undefined) {
      void drain(reader);
      return { origin, end, pid: child.pid };
    }
  }
}

async function drain(reader: ReadableStreamDefaultReader<string>): Promise<void> {
  while (!(await reader.read()).done);
}
