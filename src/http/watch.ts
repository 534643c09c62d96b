/**
 * Live events for whoever watches: pools that changed, at most once a second and 200 an event, and
 * access-log rows as they come. It looks at the pools only while somebody watches, keeps little for
 * each viewer, and drops rows (and says how many) rather than keep them for one who is slow.
 */
import type { Directory, Entry } from '../scheduler/directory.ts';
import type { Scheduler } from '../scheduler/scheduler.ts';
import type { Clock, Timer } from '../scheduler/clock.ts';
import type { LogEntry } from '../store/entry.ts';
import type { PoolView } from './pool_view.ts';
import { poolView } from './pool_view.ts';
import { shownEntry } from './shown_entry.ts';

export const VIEWERS_MAX = 32;
const TICK_MS = 1_000;
/** Looked at in one pass of the event loop, so that many pools hold up no call. */
const POOLS_A_PASS = 100;
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

/** What makes a pool look different; any change of its settings or of its pause does. */
interface Look {
  readonly spec: Entry['spec'];
  readonly pause: Entry['pool']['pause'];
  readonly shown: string;
}

export class Watch {
  readonly #viewers = new Set<Viewer>();
  /** What was last seen of each pool, while somebody watches. */
  #seen = new Map<string, Look>();
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
        // The one that is asked for also where it is gone by now.
        const names = options.pool === null
          ? server.directory.list().map(({ spec }) => spec.name)
          : [options.pool];
        for (const name of names) viewer.changed.add(name);
        if (this.#timer === null) this.#tickLater(server);
        this.#listen(server);
      },
      cancel: () => this.#leave(server, viewer),
    }, { highWaterMark: BUFFER_BYTES, size: (chunk) => chunk?.byteLength ?? 0 });
  }

  /** Lets go who may not watch any more. */
  recheck(server: Watched): void {
    for (const viewer of this.#viewers) {
      if (!viewer.options.isAllowed()) this.#leave(server, viewer);
    }
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

  #tickLater(server: Watched): void {
    this.#timer?.cancel();
    this.#timer = server.scheduler.clock.after(TICK_MS, () => {
      this.#look(server, server.directory.list());
    });
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

  /** Looks at the pools, in as many passes as they take, and then tells what changed. */
  #look(server: Watched, entries: readonly Entry[]): void {
    if (this.#viewers.size === 0) return;
    const { clock } = server.scheduler;
    for (const entry of entries.slice(0, POOLS_A_PASS)) this.#compare(entry, clock);
    const left = entries.slice(POOLS_A_PASS);
    if (left.length > 0) return clock.soon(() => this.#look(server, left));
    for (const name of this.#seen.keys()) {
      if (server.directory.get(name) !== undefined) continue;
      this.#seen.delete(name);
      this.#markAll(name);
    }
    this.#tickLater(server);
    this.#tell(server);
  }

  #compare(entry: Entry, clock: Clock): void {
    const { spec, pool: { pause } } = entry;
    const before = this.#seen.get(spec.name);
    const shown = shownOf(entry, clock);
    if (before?.shown === shown && before.spec === spec && before.pause === pause) return;
    this.#seen.set(spec.name, { spec, pause, shown });
    this.#markAll(spec.name);
  }

  #tell(server: Watched): void {
    this.#ticks++;
    const isBeat = this.#ticks % TICKS_A_HEARTBEAT === 0;
    if (isBeat) this.recheck(server);
    const views = new Map<string, PoolView | null>();
    for (const viewer of this.#viewers) {
      viewer.stalledTicks = viewer.isReading ? 0 : viewer.stalledTicks + 1;
      if (viewer.stalledTicks > STALLED_TICKS_MAX) this.#leave(server, viewer);
      else if (viewer.isReading) tellPools(server, viewer, views);
      if (isBeat && viewer.isReading) viewer.send(': still here\n\n');
    }
  }

  #markAll(name: string): void {
    for (const { options, changed } of this.#viewers) {
      if (options.pool === null || options.pool === name) changed.add(name);
    }
  }
}

/** The seconds that a reason counts down. */
const COUNTDOWN = /\b\d+ s\b/g;

/** The view, but for what time alone changes. */
function shownOf(entry: Entry, clock: Clock): string {
  const view = poolView(entry, clock);
  const reason = view.reason.replace(COUNTDOWN, '');
  return JSON.stringify({ ...view, reason, oldestWaitMs: entry.pool.queue.head?.joinedAtMs });
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
