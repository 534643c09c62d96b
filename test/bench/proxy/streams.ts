/**
 * `npm run bench:proxy:streams`: many streams of server-sent events at once through one pool, half
 * of them open for the whole run and half opened anew every ten seconds. Prints the server's
 * memory as it goes, and fails where an event was lost, or where memory ended more than a quarter
 * above what it was a sixth into the run. Linux alone. Options: --seconds N, --streams N.
 */
import { optionsOf } from '../head.ts';
import { admin, ADMIN_TOKEN, SERVE, start } from '../locks/servers.ts';

const values = optionsOf({ seconds: '600', streams: '200' });
const runMs = Number(values.seconds) * 1000;
const streams = Number(values.streams);
const EVENT_MS = 200;
const SHORT_EVENTS = 50;
const POOL_PORT = 18_321;
const LOOKS = 12;
const GROWTH_MAX = 1.25;

const folder = await Deno.makeTempDir({ prefix: 'streams-' });
const upstream = Deno.serve({ port: 0, hostname: '127.0.0.1', onListen: () => {} }, stream);
const server = await start([
  ...SERVE,
  ...['--port', '0', '--db', `file:${folder}/a.db`],
  ...['--pool-listen', `events=127.0.0.1:${POOL_PORT}`],
]);
const count = { events: 0, opened: 0, wrong: 0 };
try {
  await admin(server.origin, '/pools', {
    name: 'events',
    concurrency: { limit: streams },
    access: { key: { required: false } },
    upstream: { url: `http://127.0.0.1:${upstream.addr.port}`, requestTimeoutMs: null },
  });
  const untilMs = performance.now() + runMs;
  const readers = Array.from({ length: streams }, (_, at) => readStreams(at % 2 === 0, untilMs));
  const memory = await watch();
  await Promise.all(readers);
  await expectIdle();
  const [settled = 0, last = 0] = [memory[LOOKS / 6], memory.at(-1)];
  const isFlat = last <= settled * GROWTH_MAX;
  console.log(JSON.stringify({ ...count, settledMib: settled, lastMib: last, isFlat }));
  if (!isFlat || count.wrong > 0) Deno.exitCode = 1;
} finally {
  await server.end();
  await upstream.shutdown();
  await Deno.remove(folder, { recursive: true });
}

/** The upstream: so many numbered events, one after another. */
function stream(request: Request): Response {
  const events = Number(new URL(request.url).searchParams.get('events'));
  let sent = 0;
  let timer: ReturnType<typeof setInterval> | undefined;
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      timer = setInterval(() => {
        controller.enqueue(new TextEncoder().encode(`data: ${sent}\n\n`));
        if (++sent < events) return;
        clearInterval(timer);
        controller.close();
      }, EVENT_MS);
    },
    cancel: () => clearInterval(timer),
  });
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
}

/** One caller: a stream for the whole run, or short ones one after another. */
async function readStreams(isLong: boolean, untilMs: number): Promise<void> {
  for (;;) {
    const leftEvents = Math.floor((untilMs - performance.now()) / EVENT_MS);
    if (leftEvents < 1) return;
    const events = isLong ? leftEvents : Math.min(SHORT_EVENTS, leftEvents);
    const answer = await fetch(`http://127.0.0.1:${POOL_PORT}/?events=${events}`);
    count.opened++;
    let text = '';
    let next = 0;
    for await (const piece of answer.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      const whole = (text + piece).split('\n\n');
      text = whole.pop() ?? '';
      for (const event of whole) if (event !== `data: ${next++}`) count.wrong++;
    }
    count.events += next;
    if (next !== events) count.wrong++;
  }
}

/** MiB that the server holds, at the start and at each look. */
async function watch(): Promise<number[]> {
  const startedMs = performance.now();
  const memory: number[] = [];
  for (let look = 0; look <= LOOKS; look++) {
    const dueMs = startedMs + look * runMs / LOOKS;
    await new Promise((done) => setTimeout(done, Math.max(0, dueMs - performance.now())));
    memory.push(await memoryMib());
    const { inUse } = await status();
    console.log(
      `${Math.round(look * runMs / LOOKS / 1000)} s: ${memory.at(-1)} MiB, ${inUse} open`,
    );
  }
  return memory;
}

async function memoryMib(): Promise<number> {
  const text = await Deno.readTextFile(`/proc/${server.pid}/status`);
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(text)?.[1]) / 1024);
}

async function status(): Promise<Record<string, unknown>> {
  const answer = await fetch(`${server.origin}/admin/api/pools/events/status`, {
    headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
  });
  if (!answer.ok) throw new Error(await answer.text());
  return await answer.json();
}

/** Every slot is back once the last stream has ended. */
async function expectIdle(): Promise<void> {
  await new Promise((done) => setTimeout(done, 1000));
  const { inUse, proxied } = await status();
  if (inUse !== 0) throw new Error(`still in use: ${inUse}, ${JSON.stringify(proxied)}`);
}
