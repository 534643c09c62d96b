/**
 * What each pool did lately, for charts: per span a ring of so many cells, so that a day of it
 * takes as much room as a minute. A pool gets its rings when it first does something, and loses
 * them when it has done nothing for a day, by no wall clock; there is room for so many pools.
 * Finished cells are stored, so that the charts survive a restart.
 */
import type { Pool } from '../core/pool.ts';
import { epochMsOf } from './clock.ts';
import type { HistoryRow, Store } from '../store/store.ts';
import { Unsaved } from '../store/unsaved.ts';
import { log, messageOf } from '../log.ts';
import type { Timer } from './clock.ts';
import type { Scheduler } from './scheduler.ts';
import type { PoolTally } from './tally.ts';

export const SPANS = {
  '5m': { stepMs: 5_000, cells: 60 },
  '1h': { stepMs: 60_000, cells: 60 },
  '24h': { stepMs: 900_000, cells: 96 },
} as const;

export type Span = keyof typeof SPANS;

const NAMES = Object.keys(SPANS) as Span[];
const SAMPLE_MS = SPANS['5m'].stepMs;
/** Finished cells are stored in one write for so many samples. */
const SAMPLES_A_SAVE = 6;
const POOLS_MAX = 2_000;

/** Samples of a day. */
const IDLE_SAMPLES_MAX = SPANS['24h'].stepMs * SPANS['24h'].cells / SAMPLE_MS;

/** One cell: most slots in use, the limit, most waiters, starts and refusals. */
type Cell = [inUse: number, limit: number, queued: number, granted: number, refused: number];
const EMPTY: Readonly<Cell> = [0, 0, 0, 0, 0];

interface Ring {
  readonly size: number;
  /** The step that each cell is of; a cell of another step than asked for counts as empty. */
  readonly steps: number[];
  readonly cells: Cell[];
}

type Rings = Readonly<Record<Span, Ring>>;

/** What is kept of one pool: a later one of its name is another. */
interface Kept {
  readonly pool: Pool;
  readonly rings: Rings;
  /** Samples since it last did something. */
  idle: number;
}

/** What a pool had answered in all when it was looked at last. */
type Counts = Readonly<Pick<PoolTally, 'granted' | 'refused'>>;
const NO_COUNTS: Counts = { granted: 0, refused: 0 };

/** A chart's columns, oldest first; `limit` is null where nothing was noted. */
export interface Series {
  readonly stepMs: number;
  /** Epoch ms at which each step begins. */
  readonly at: number[];
  readonly inUse: number[];
  readonly limit: (number | null)[];
  readonly queued: number[];
  readonly granted: number[];
  readonly refused: number[];
}

export class History {
  readonly #store: Pick<Store, 'readHistory' | 'saveHistory'>;
  readonly #scheduler: Scheduler;
  readonly #pools = new Map<string, Kept>();
  /** Of every pool that there is, with rings or without: a count is a start once. */
  readonly #counted = new WeakMap<PoolTally, Counts>();
  readonly #unsaved = new Unsaved<HistoryRow>();
  readonly #current = new Map<Span, number>();
  #samples = 0;
  #timer: Timer | null = null;

  constructor(store: Pick<Store, 'readHistory' | 'saveHistory'>, scheduler: Scheduler) {
    this.#store = store;
    this.#scheduler = scheduler;
  }

  /** @param createdAt when the pool was made: what was noted before is of another of its name. */
  async load(createdAt: (pool: string) => number = () => 0): Promise<void> {
    for (const row of await this.#store.readHistory()) {
      const { span, at } = row;
      if (!isSpan(span)) continue;
      const { stepMs } = SPANS[span];
      for (const [name, cell] of pointsOf(row)) {
        const pool = this.#scheduler.pools.get(name);
        if (pool === undefined || at + stepMs <= createdAt(name)) continue;
        put(this.#keptOf(pool)?.rings[span], Math.floor(at / stepMs), cell);
      }
    }
  }

  start(): void {
    this.#timer = this.#scheduler.clock.after(SAMPLE_MS, () => {
      this.sample();
      this.start();
    });
  }

  stop(): void {
    this.#timer?.cancel();
  }

  /** Notes what every pool did since the last time; called once a step of the shortest span. */
  sample(): void {
    const { pools, log: { tally } } = this.#scheduler;
    const epochMs = this.#epochMs();
    tally.keep(pools);
    this.#finish(epochMs);
    this.#forget();
    for (const pool of pools.values()) {
      const counts = tally.of(pool.name);
      const { granted, refused } = counts;
      const last = this.#counted.get(counts) ?? NO_COUNTS;
      this.#counted.set(counts, { granted, refused });
      const inUse = pool.takeMostInUse();
      const queued = pool.queue.takeMost();
      const starts = granted - last.granted;
      const refusals = refused - last.refused;
      if (inUse + queued + starts + refusals === 0) continue;
      const kept = this.#keptOf(pool);
      if (kept === undefined) continue;
      kept.idle = 0;
      const cell: Cell = [inUse, pool.governor.limit, queued, starts, refusals];
      for (const span of NAMES) {
        add(kept.rings[span], Math.floor(epochMs / SPANS[span].stepMs), cell);
      }
    }
    this.#samples++;
    if (this.#samples % SAMPLES_A_SAVE === 0) void this.save();
  }

  /** Stores what is finished and not yet stored; what fails is stored by the next call. */
  async save(): Promise<void> {
    if (this.#scheduler.journal.isFailing) return;
    try {
      await this.#unsaved.save((rows) => this.#store.saveHistory([...rows.values()]));
    } catch (error) {
      log.warn('the history was not stored: {reason}', { reason: messageOf(error) });
    }
  }

  /** Stores all, what is under way too: the server stops. */
  async close(): Promise<void> {
    this.stop();
    this.sample();
    for (const [span, step] of this.#current) this.#keep(span, step);
    await this.save();
  }

  read(pool: string, span: Span): Series {
    const { stepMs, cells } = SPANS[span];
    const kept = this.#pools.get(pool);
    const ring = this.#isCurrent(kept) ? kept.rings[span] : undefined;
    // A step that nothing was noted of yet is no drop to zero.
    const last = this.#current.get(span) ?? Math.floor(this.#epochMs() / stepMs);
    const series: Series = {
      stepMs,
      at: [],
      inUse: [],
      limit: [],
      queued: [],
      granted: [],
      refused: [],
    };
    for (let step = last - cells + 1; step <= last; step++) {
      const [inUse, limit, queued, granted, refused] = cellOf(ring, step) ?? EMPTY;
      series.at.push(step * stepMs);
      series.inUse.push(inUse);
      series.limit.push(limit === 0 ? null : limit);
      series.queued.push(queued);
      series.granted.push(Math.max(0, granted));
      series.refused.push(refused);
    }
    return series;
  }

  /** Hands over the cells whose step is over. */
  #finish(epochMs: number): void {
    for (const span of NAMES) {
      const step = Math.floor(epochMs / SPANS[span].stepMs);
      const before = this.#current.get(span);
      this.#current.set(span, step);
      if (before !== undefined && before !== step) this.#keep(span, before);
    }
  }

  /** Forgets pools that are gone, or did nothing for a day. */
  #forget(): void {
    for (const [name, kept] of this.#pools) {
      kept.idle += 1;
      if (kept.idle > IDLE_SAMPLES_MAX || !this.#isCurrent(kept)) this.#pools.delete(name);
    }
  }

  #isCurrent(kept: Kept | undefined): kept is Kept {
    return kept !== undefined && this.#scheduler.pools.get(kept.pool.name) === kept.pool;
  }

  #keep(span: Span, step: number): void {
    const { stepMs, cells } = SPANS[span];
    const points: Record<string, Cell> = {};
    for (const [name, { rings }] of this.#pools) {
      const cell = cellOf(rings[span], step);
      if (cell !== undefined) points[name] = cell;
    }
    if (Object.keys(points).length === 0) return;
    const cell = step % cells;
    const row = { span, cell, at: step * stepMs, points: JSON.stringify(points) };
    this.#unsaved.set(`${span} ${cell}`, row);
  }

  #keptOf(pool: Pool): Kept | undefined {
    const known = this.#pools.get(pool.name);
    if (this.#isCurrent(known)) return known;
    if (known === undefined && this.#pools.size >= POOLS_MAX) return undefined;
    const rings: Rings = {
      '5m': makeRing(SPANS['5m'].cells),
      '1h': makeRing(SPANS['1h'].cells),
      '24h': makeRing(SPANS['24h'].cells),
    };
    const kept = { pool, rings, idle: 0 };
    this.#pools.set(pool.name, kept);
    return kept;
  }

  #epochMs(): number {
    return epochMsOf(this.#scheduler.clock);
  }
}

/** The cells of a row by pool, but for those that cannot be read. */
function pointsOf({ span, at, points }: HistoryRow): [string, Cell][] {
  try {
    const cells = Object.entries(JSON.parse(points) as Record<string, unknown>);
    return cells.filter((entry): entry is [string, Cell] => isCell(entry[1]));
  } catch {
    log.warn('the chart of {span} lacks what began at {at}: what is stored cannot be read', {
      span,
      at: new Date(at).toISOString(),
    });
    return [];
  }
}

function isCell(value: unknown): value is Cell {
  return Array.isArray(value) && value.length === EMPTY.length && value.every(Number.isFinite);
}

export function isSpan(text: string): text is Span {
  return Object.hasOwn(SPANS, text);
}

function makeRing(size: number): Ring {
  return { size, steps: new Array<number>(size).fill(-1), cells: [] };
}

function cellOf(ring: Ring | undefined, step: number): Cell | undefined {
  if (ring === undefined) return undefined;
  const at = step % ring.size;
  return ring.steps[at] === step ? ring.cells[at] : undefined;
}

function put(ring: Ring | undefined, step: number, cell: Cell): void {
  if (ring === undefined) return;
  const at = step % ring.size;
  ring.steps[at] = step;
  ring.cells[at] = [...cell];
}

function add(ring: Ring, step: number, cell: Cell): void {
  const known = cellOf(ring, step);
  if (known === undefined) return put(ring, step, cell);
  known[0] = Math.max(known[0], cell[0]);
  known[1] = cell[1];
  known[2] = Math.max(known[2], cell[2]);
  known[3] += cell[3];
  known[4] += cell[4];
}
