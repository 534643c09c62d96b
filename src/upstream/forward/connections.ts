/**
 * The idle connections to all upstreams, the last used first. A connection comes here only after
 * its answer ended cleanly, and one that the upstream has closed meanwhile is never handed out.
 */
import { pass } from '../../http1/pass.ts';
import type { Dial, Origin } from './dial.ts';
import { UpstreamConnection } from './upstream_connection.ts';

const IDLE_MS_MAX = 30_000;
const IDLE_PER_ORIGIN_MAX = 512;

export interface ConnectionsOptions {
  readonly dial: Dial;
  /** Ms on any monotonic clock. */
  readonly nowMs: () => number;
}

export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #idle = new Map<string, UpstreamConnection[]>();

  constructor(options: ConnectionsOptions) {
    this.#options = options;
  }

  /**
   * An idle connection that is still open and has been silent; null where there is none. A hang-up,
   * or bytes that nobody asked for, may wait in the event loop: they get a turn first.
   */
  async takeIdle(origin: Origin): Promise<UpstreamConnection | null> {
    const name = nameOf(origin);
    if (!this.#idle.has(name)) return null;
    await pass();
    for (;;) {
      const connection = this.#idle.get(name)?.pop();
      if (connection === undefined) return null;
      const idleMs = this.#options.nowMs() - connection.idleSinceMs;
      const isFresh = idleMs < Math.min(IDLE_MS_MAX, connection.idleMsMax);
      if (isFresh && connection.isOpen && connection.aheadBytes === 0) return connection;
      connection.close();
    }
  }

  /** A new connection. @throws DialError, LoopError */
  async dial(origin: Origin, givenUp: AbortSignal): Promise<UpstreamConnection> {
    return new UpstreamConnection(await this.#options.dial(origin, givenUp), nameOf(origin));
  }

  /** Takes a connection back whose answer has ended cleanly. */
  give(connection: UpstreamConnection): void {
    const { name } = connection;
    let idle = this.#idle.get(name);
    if (idle === undefined) this.#idle.set(name, idle = []);
    connection.idleSinceMs = this.#options.nowMs();
    idle.push(connection);
    if (idle.length > IDLE_PER_ORIGIN_MAX) idle.shift()?.close();
    const since = connection.idleSinceMs;
    // An answer that nobody asked for, or the end: either way it is of no more use.
    void connection.more().then(() => {
      if (connection.idleSinceMs === since) this.#drop(connection);
    });
  }

  /** Closes those that have been idle for long; called now and then while some are left (true). */
  sweep(): boolean {
    const nowMs = this.#options.nowMs();
    for (const [name, idle] of this.#idle) {
      while (idle[0] !== undefined && nowMs - idle[0].idleSinceMs > IDLE_MS_MAX) {
        idle.shift()?.close();
      }
      if (idle.length === 0) this.#idle.delete(name);
    }
    return this.#idle.size > 0;
  }

  #drop(connection: UpstreamConnection): void {
    const idle = this.#idle.get(connection.name);
    const at = idle?.indexOf(connection) ?? -1;
    if (at < 0) return;
    idle?.splice(at, 1);
    connection.close();
  }
}

export function nameOf({ hostname, port, isTls }: Origin): string {
  return `${isTls ? 'tls' : 'tcp'} ${hostname} ${port}`;
}
