/**
 * Live events for whoever watches: pools that changed, at most once a second and 200 an event, and
 * access-log rows as they come. It looks at the pools only while somebody watches, keeps little for
 * each viewer, and drops rows (and says how many) rather than keep them for one who is slow.
 */
import type { Directory, Entry } from '../scheduler/directory.ts';
import type { Scheduler } from '../scheduler/scheduler.ts';
import type { Timer } from '../scheduler/clock.ts';
import type { LogEntry } from '../store/entry.ts';
import type { PoolView } from './pool_view.ts';
import { poolView } from './pool_view.ts';
import { shownEntry } from './shown_entry.ts';

export const VIEWERS_MAX = 32;
const TICK_MS = 1_000;
/** How soon rows are told, and where more come than are told: a change could not be read sooner. */
const ROWS_MS = 250;
const FLOOD_MS = 1_000;
const POOLS_AN_EVENT = 200;
/** Rows that wait for one viewer's next event. */
const ROWS_MAX = 200;
const BUFFER_BYTES = 256 * 1024;
const TICKS_A_HEARTBEAT = 15;
/** A viewer that has not read for so many ticks is let go. */
const STALLED_TICKS_MAX = 60;

/** What of the server is looked at. */
interface Watched {
  readonly directory: Directory;
  readonly scheduler: Scheduler;
}

export interface ViewerOptions {
  /** This pool alone; null: all. */
  readonly pool: string | null;
  readonly wantsRows: boolean;
  /** Asked now and then: whether the viewer may still watch. */
  readonly isAllowed: () => boolean;
}

class Viewer {
  readonly options: ViewerOptions;
  readonly changed = new Set<string>();
  rows: LogEntry[] = [];
  missed = 0;
  stalledTicks = 0;
  readonly #controller: ReadableStreamDefaultController<Uint8Array>;

  constructor(controller: ReadableStreamDefaultController<Uint8Array>, options: ViewerOptions) {
    this.#controller = controller;
    this.options = options;
  }

  get isReading(): boolean {
    return (this.#controller.desiredSize ?? 0) > 0;
  }

  send(text: string): void {
    this.#controller.enqueue(encoder.encode(text));
  }

  close(): void {
    try {
      this.#controller.close();
    } catch {
      // It was closed from the other end.
    }
  }
}

const encoder = new TextEncoder();

export class Watch {
  readonly #viewers = new Set<Viewer>();
  /** What was last seen of each pool, while somebody watches. */
  #seen = new Map<string, string>();
  #timer: Timer | null = null;
  #rowsTimer: Timer | null = null;
  /** Whether there were more rows lately than were told. */
  #isFlood = false;
  #ticks = 0;

  get viewers(): number {
    return this.#viewers.size;
  }

  /** A stream of events; null where there are too many viewers. */
  open(server: Watched, options: ViewerOptions): ReadableStream<Uint8Array> | null {
    if (this.#viewers.size >= VIEWERS_MAX) return null;
    let viewer: Viewer;
    return new ReadableStream<Uint8Array>({
      start: (controller) => {
        viewer = new Viewer(controller, options);
        this.#viewers.add(viewer);
        viewer.send('retry: 2000\n\n');
        for (const { spec } of server.directory.list()) this.#mark(viewer, spec.name);
        if (this.#timer === null) this.#begin(server);
        this.#listen(server);
      },
      cancel: () => this.#leave(server, viewer),
    }, { highWaterMark: BUFFER_BYTES, size: (chunk) => chunk?.byteLength ?? 0 });
  }

  close(): void {
    this.#timer?.cancel();
    this.#rowsTimer?.cancel();
    for (const viewer of this.#viewers) viewer.close();
    this.#viewers.clear();
  }

  #leave(server: Watched, viewer: Viewer): void {
    viewer.close();
    this.#viewers.delete(viewer);
    this.#listen(server);
    if (this.#viewers.size > 0) return;
    this.#timer?.cancel();
    this.#timer = null;
    this.#seen = new Map();
  }

  #begin(server: Watched): void {
    for (const entry of server.directory.list()) this.#seen.set(entry.spec.name, sketch(entry));
    this.#timer = server.scheduler.clock.after(TICK_MS, () => this.#tick(server));
  }

  /** Hears the log only while somebody wants it. */
  #listen(server: Watched): void {
    const wanting = [...this.#viewers].filter(({ options }) => options.wantsRows);
    server.scheduler.log.heard = wanting.length === 0
      ? () => {}
      : (entry) => this.#hear(server, wanting, entry);
  }

  #hear(server: Watched, wanting: readonly Viewer[], entry: LogEntry): void {
    for (const viewer of wanting) {
      const { pool } = viewer.options;
      if (pool !== null && pool !== entry.pool) continue;
      if (viewer.rows.length < ROWS_MAX) viewer.rows.push(entry);
      else viewer.missed++;
    }
    const waitMs = this.#isFlood ? FLOOD_MS : ROWS_MS;
    this.#rowsTimer ??= server.scheduler.clock.after(waitMs, () => {
      this.#rowsTimer = null;
      this.#isFlood = wanting.some(({ missed }) => missed > 0);
      for (const viewer of this.#viewers) tellRows(viewer);
    });
  }

  #tick(server: Watched): void {
    this.#timer = server.scheduler.clock.after(TICK_MS, () => this.#tick(server));
    this.#compare(server);
    this.#ticks++;
    const views = new Map<string, PoolView | null>();
    for (const viewer of this.#viewers) {
      viewer.stalledTicks = viewer.isReading ? 0 : viewer.stalledTicks + 1;
      if (viewer.stalledTicks > STALLED_TICKS_MAX) this.#leave(server, viewer);
      else if (viewer.isReading) tellPools(server, viewer, views);
      if (this.#ticks % TICKS_A_HEARTBEAT !== 0) continue;
      if (!viewer.options.isAllowed()) this.#leave(server, viewer);
      else if (viewer.isReading) viewer.send(': still here\n\n');
    }
  }

  #compare(server: Watched): void {
    const now = new Map<string, string>();
    for (const entry of server.directory.list()) {
      const { name } = entry.spec;
      const seen = sketch(entry);
      now.set(name, seen);
      if (this.#seen.get(name) !== seen) this.#markAll(name);
    }
    for (const name of this.#seen.keys()) if (!now.has(name)) this.#markAll(name);
    this.#seen = now;
  }

  #markAll(name: string): void {
    for (const viewer of this.#viewers) this.#mark(viewer, name);
  }

  #mark({ options, changed }: Viewer, name: string): void {
    if (options.pool === null || options.pool === name) changed.add(name);
  }
}

/** What makes a pool look different; cheap, since it is made of every pool each second. */
function sketch({ pool, spec }: Entry): string {
  const { queue, governor, pause } = pool;
  const oldest = queue.head?.joinedAtMs ?? 0;
  const held = pause === null ? 0 : pause.untilMs;
  const { limit } = spec.concurrency;
  const parts = [pool.inUse, queue.length, oldest, governor.limit, limit, held, governor.dueAtMs];
  return parts.join(' ');
}

function tellPools(server: Watched, viewer: Viewer, views: Map<string, PoolView | null>): void {
  const pools: PoolView[] = [];
  const gone: string[] = [];
  for (const name of [...viewer.changed].slice(0, POOLS_AN_EVENT)) {
    viewer.changed.delete(name);
    let view = views.get(name);
    if (view === undefined) {
      const entry = server.directory.get(name);
      view = entry === undefined ? null : poolView(entry, server.scheduler.clock);
      views.set(name, view);
    }
    if (view === null) gone.push(name);
    else pools.push(view);
  }
  if (pools.length > 0) viewer.send(`event: pools\ndata: ${JSON.stringify({ pools })}\n\n`);
  if (gone.length > 0) viewer.send(`event: gone\ndata: ${JSON.stringify({ pools: gone })}\n\n`);
}

function tellRows(viewer: Viewer): void {
  if (viewer.rows.length === 0) return;
  if (!viewer.isReading) {
    viewer.missed += viewer.rows.length;
    viewer.rows = [];
    return;
  }
  const event = { entries: viewer.rows.map(shownEntry), missed: viewer.missed };
  viewer.rows = [];
  viewer.missed = 0;
  viewer.send(`event: log\ndata: ${JSON.stringify(event)}\n\n`);
}
