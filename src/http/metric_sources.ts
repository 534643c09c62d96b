/**
 * The metrics as a table: name, help, and where the values come from when somebody asks. Nothing is
 * counted here. Labels come from pools that exist and from the error table alone, and only so many
 * pools have series of their own.
 */
import process from 'node:process';
import type { Histogram } from '../scheduler/histogram.ts';
import type { Server } from './server.ts';
import type { PoolView } from './pool_view.ts';
import { poolView } from './pool_view.ts';

/** Pools beyond this many share the series of {@link OTHER_POOLS}. */
const POOLS_MAX = 1_000;
/** No pool can have this name. */
const OTHER_POOLS = '_other';

export type Labels = Readonly<Record<string, string>>;
export type Sample = readonly [labels: Labels, value: number];
export type HistogramSample = readonly [labels: Labels, value: Histogram];

export type Source =
  & { readonly name: string; readonly help: string; readonly labels?: readonly string[] }
  & (
    | { readonly type: 'gauge' | 'counter'; readonly read: (scrape: Scrape) => Iterable<Sample> }
    | { readonly type: 'histogram'; readonly read: (scrape: Scrape) => Iterable<HistogramSample> }
  );

/** What one scrape looks at; pools are looked at once. */
export interface Scrape {
  readonly server: Server;
  readonly views: readonly PoolView[];
}

export function scrapeOf(server: Server): Scrape {
  const { clock } = server.scheduler;
  const views = server.directory.list().map((entry) => poolView(entry, clock));
  return { server, views };
}

const one = (value: number): Sample[] => [[{}, value]];

function labelled(views: readonly PoolView[]): Iterable<readonly [string, PoolView]> {
  return views.map((view, at) => [at < POOLS_MAX ? view.name : OTHER_POOLS, view] as const);
}

const sum = (one: number, other: number): number => one + other;

/** One series a pool; those of further pools are joined in one, summed unless said otherwise. */
function byPool(of: (view: PoolView, server: Server) => number | null, join = sum) {
  return ({ server, views }: Scrape): Iterable<Sample> => {
    const joined = new Map<string, number>();
    for (const [pool, view] of labelled(views)) {
      const value = of(view, server);
      if (value !== null) joined.set(pool, join(joined.get(pool) ?? 0, value));
    }
    return [...joined].map(([pool, value]) => [{ pool }, value]);
  };
}

function* refusals({ server, views }: Scrape): Iterable<Sample> {
  const others = new Map<string, number>();
  for (const [pool, view] of labelled(views)) {
    for (const [code, count] of server.scheduler.log.tally.of(view.name).refusals) {
      if (pool !== OTHER_POOLS) yield [{ pool, code }, count];
      else others.set(code, (others.get(code) ?? 0) + count);
    }
  }
  for (const [code, count] of others) yield [{ pool: OTHER_POOLS, code }, count];
}

function* waits({ server, views }: Scrape): Iterable<HistogramSample> {
  for (const { name } of views.slice(0, POOLS_MAX)) {
    yield [{ pool: name }, server.scheduler.log.tally.of(name).waits];
  }
}

const POOL = ['pool'] as const;
const pool = { labels: POOL, type: 'gauge' } as const;

export const SOURCES: readonly Source[] = [
  {
    name: 'nthbouncer_info',
    help: 'The version that runs; always 1.',
    labels: ['version', 'runtime'],
    type: 'gauge',
    read: ({ server }) => {
      const { version, runtime } = server.describe();
      return [[{ version: String(version), runtime: String(runtime) }, 1]];
    },
  },
  {
    name: 'nthbouncer_pools',
    help: 'Pools that there are.',
    type: 'gauge',
    read: ({ views }) => one(views.length),
  },
  {
    ...pool,
    name: 'nthbouncer_pool_slots_in_use',
    help: 'Slots that are held.',
    read: byPool(({ inUse }) => inUse),
  },
  {
    ...pool,
    name: 'nthbouncer_pool_effective_limit',
    help: 'Slots that may be held now.',
    read: byPool(({ effectiveLimit }) => effectiveLimit),
  },
  {
    ...pool,
    name: 'nthbouncer_pool_limit',
    help: 'Slots that the settings allow.',
    read: byPool(({ limit }) => limit),
  },
  {
    ...pool,
    name: 'nthbouncer_pool_queued',
    help: 'Acquires that wait.',
    read: byPool(({ queued }) => queued),
  },
  {
    ...pool,
    name: 'nthbouncer_pool_oldest_wait_seconds',
    help: 'How long the oldest waiter has waited; 0 where nobody does.',
    read: byPool(({ oldestWaitMs }) => oldestWaitMs / 1000, Math.max),
  },
  {
    ...pool,
    name: 'nthbouncer_pool_starts_per_minute',
    help: 'The rate in force; absent where there is none.',
    read: byPool(({ rpm }) => rpm),
  },
  {
    ...pool,
    name: 'nthbouncer_pool_paused',
    help: '1 while nobody is admitted, by an operator or an upstream.',
    read: byPool(({ state }) => state === 'paused' ? 1 : 0),
  },
  {
    name: 'nthbouncer_grants_total',
    help: 'Acquires and proxied requests that were granted.',
    labels: POOL,
    type: 'counter',
    read: byPool(({ name }, server) => server.scheduler.log.tally.of(name).granted),
  },
  {
    name: 'nthbouncer_refusals_total',
    help: 'Attempts that were refused, by error code (client_gone: the caller hung up).',
    labels: ['pool', 'code'],
    type: 'counter',
    read: refusals,
  },
  {
    name: 'nthbouncer_wait_seconds',
    help: 'How long attempts waited in the queue, granted or not.',
    labels: POOL,
    type: 'histogram',
    read: waits,
  },
  {
    name: 'nthbouncer_unknown_pool_calls_total',
    help: 'Calls that named a pool that does not exist.',
    type: 'counter',
    read: ({ server }) => one(server.scheduler.log.tally.unknownPools),
  },
  {
    name: 'nthbouncer_flush_seconds',
    help: 'How long writes to the database took that were durable.',
    type: 'histogram',
    read: ({ server }) => [[{}, server.scheduler.journal.flushes]],
  },
  {
    name: 'nthbouncer_flush_failures_total',
    help: 'Writes to the database that failed, those that were tried again included.',
    type: 'counter',
    read: ({ server }) => one(server.scheduler.journal.failures),
  },
  {
    name: 'nthbouncer_store_failing',
    help: '1 while the database takes no writes and nothing is granted.',
    type: 'gauge',
    read: ({ server }) => one(server.scheduler.journal.isFailing ? 1 : 0),
  },
  {
    name: 'nthbouncer_event_loop_lag_seconds',
    help: 'How late a timer fired, measured twice a second.',
    type: 'histogram',
    read: ({ server }) => [[{}, server.desk.lag.histogram]],
  },
  {
    name: 'process_resident_memory_bytes',
    help: 'Memory of the process.',
    type: 'gauge',
    read: () => one(process.memoryUsage().rss),
  },
  {
    name: 'process_cpu_seconds_total',
    help: 'Processor time of the process.',
    type: 'counter',
    read: () => {
      const { user, system } = process.cpuUsage();
      return one((user + system) / 1e6);
    },
  },
];
