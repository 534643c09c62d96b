/**
 * `npm run bench:governor:http`: the same scenario twice, simulated and for real: a server over
 * HTTP, the simulated upstream at the pace of the clock, and workers that only acquire and release.
 * Prints both and their difference. Options: --seconds N, --seed N, --only NAME.
 */
import { inFolder, optionsOf } from '../head.ts';
import { startServer, type Target } from '../locks/servers.ts';
import { runScenario } from './bench.ts';
import { mulberry32 } from './chance.ts';
import { type Figures, measure } from './figures.ts';
import { LIMITERS } from './limiters.ts';
import type { Scenario } from './scenario.ts';
import type { Run } from './simulation.ts';
import { SimulatedUpstream } from './upstream.ts';

const WORKERS = 64;
const WAIT_MS = 30_000;

const values = optionsOf({ seconds: '120', seed: '11', only: '' });
const durationMs = Number(values.seconds) * 1000;
const seed = Number(values.seed);

/** The network is loopback here, so the simulated one is taken out of the upstream's time. */
const base = { durationMs, instances: [{ workers: [{ atMs: 0, count: WORKERS }] }] };
const quiet = { headers: null, retryAfter: null };
const SCENARIOS: readonly Scenario[] = [
  {
    ...base,
    name: 'hidden cap of 8',
    windowMs: 10_000,
    upstream: { ...quiet, service: service(400), cap: [[0, 8]], rate: null },
    ideal: { perSecond: [[0, 20]], extra: 0 },
  },
  {
    ...base,
    name: 'hidden 300 a minute',
    windowMs: 60_000,
    upstream: {
      ...quiet,
      service: service(400),
      cap: null,
      rate: { kind: 'sliding', limit: 300, windowMs: 60_000 },
    },
    ideal: { perSecond: [[0, 5]], extra: 0 },
  },
];

for (const scenario of SCENARIOS) {
  if (!scenario.name.includes(values.only)) continue;
  const { goodput, refusedShare } = runScenario(scenario, ['nthbouncer', LIMITERS.nthbouncer!], [
    seed,
  ]);
  const real = await runForReal(scenario);
  console.log(
    `${scenario.name}: goodput ${goodput.toFixed(3)} simulated, ${real.goodput.toFixed(3)} ` +
      `over HTTP (${percent(real.goodput / goodput - 1)}); refused ` +
      `${percent(refusedShare)} simulated, ${percent(real.refusedShare)} over HTTP`,
  );
}

function service(ms: number) {
  return { ms: [[0, ms]] as const, cv: 0.25, knee: null };
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}

async function runForReal(scenario: Scenario): Promise<Figures> {
  return await inFolder(async (folder) => {
    const server = await startServer(folder, {
      concurrency: { mode: 'adaptive', limit: 4, min: 1, max: 256 },
      queue: { maxDepth: 1000, timeoutMs: WAIT_MS },
    });
    try {
      return measure(scenario, await drive(scenario, server));
    } finally {
      await server.end();
    }
  });
}

async function drive(scenario: Scenario, server: Target): Promise<Run> {
  const random = mulberry32(seed);
  const upstream = new SimulatedUpstream(scenario.upstream, random);
  const startMs = performance.now();
  const nowMs = () => performance.now() - startMs;
  const successes: Run['successes'][number][] = [];
  let refused = 0;

  async function worker(client: number): Promise<void> {
    let attempt = 0;
    while (nowMs() < scenario.durationMs) {
      const slotId = await acquire(server);
      if (slotId === null) continue;
      const calledAtMs = nowMs();
      await sleep(8 + random() * 10);
      const answer = upstream.arrive(nowMs(), 0);
      await sleep(answer.tookMs);
      if (answer.accepted) upstream.leave();
      await sleep(8 + random() * 10);
      await release(server, slotId, answer.accepted ? 200 : 429);
      if (answer.accepted) {
        attempt = 0;
        const atMs = nowMs();
        successes.push({ atMs, latencyMs: atMs - calledAtMs, instance: 0, client });
        await sleep(random() * 20);
      } else {
        refused++;
        await sleep(random() * Math.min(20_000, 500 * 2 ** attempt++));
      }
    }
  }
  await Promise.all(Array.from({ length: WORKERS }, (_, index) => worker(index % 4)));
  return {
    successes: successes.filter(({ atMs }) => atMs < scenario.durationMs),
    refused,
  };
}

async function acquire(server: Target): Promise<string | null> {
  const answer = await post(server, server.args[1], { waitMs: WAIT_MS });
  const { slotId, retryAfterMs = 100 } = await answer.json();
  if (answer.status === 200) return slotId;
  await sleep(retryAfterMs);
  return null;
}

async function release(server: Target, slotId: string, status: number): Promise<void> {
  const answer = await post(server, `${server.args[2]}${slotId}/release`, { status });
  if (answer.status !== 200) throw new Error(`release: ${answer.status}`);
  await answer.body?.cancel();
}

function post(server: Target, path: string, body: object): Promise<Response> {
  const headers = { 'x-nthpool-key': server.args[0] };
  return fetch(server.origin + path, { method: 'POST', headers, body: JSON.stringify(body) });
}

function sleep(ms: number): Promise<void> {
  return new Promise((done) => setTimeout(done, ms));
}
