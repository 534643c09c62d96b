/**
 * What the proxy door forwards with: the pooled connections, the guard over all exchanges, where
 * each pool's requests go, and which proxied requests are under way.
 */
import type { PoolSpec } from '../wire.ts';
import { Connections } from '../upstream/forward/connections.ts';
import { Guard } from '../upstream/forward/guard.ts';
import type { Address, Dial } from '../upstream/forward/line.ts';
import type { Means } from '../upstream/forward/exchange.ts';
import type { Target } from '../upstream/target.ts';
import { targetOf } from '../upstream/target.ts';

export interface ForwardingOptions {
  readonly dial: Dial;
  readonly nowMs: () => number;
  readonly isOwn?: (remote: Address, local: Address | null) => boolean;
  /** Takes over the connection of a request that asks for WebSocket. */
  readonly upgrade?: Upgrade;
  /**
   * Whether a request's signal, asked for late, still tells of a caller that left before. It is
   * dear, so only what takes a while asks for it; without this every request asks at once.
   */
  readonly tellsLate?: boolean;
}

export type Upgrade = (
  request: Request,
  protocol: string | null,
  headers: Readonly<Record<string, string>>,
) => { readonly socket: WebSocket; readonly response: Response };

/** A proxied request that is under way. */
export interface UnderWay {
  readonly pool: string;
  /** Since when no byte has moved. */
  readonly quietSinceMs: number;
  /** Whether the caller's body is still wanted. */
  readonly isUploading: boolean;
  /** Ends it: its slot was taken back. */
  end(): void;
}

export class Forwarding implements Means {
  readonly connections: Connections;
  readonly guard: Guard;
  readonly nowMs: () => number;
  readonly upgrade: Upgrade | null;
  readonly tellsLate: boolean;
  /** By slotId. */
  readonly underWay = new Map<string, UnderWay>();
  readonly #targets = new Map<string, Target>();

  constructor(options: ForwardingOptions) {
    this.nowMs = options.nowMs;
    this.connections = new Connections(options);
    this.guard = new Guard(options.nowMs, () => this.connections.sweep());
    this.upgrade = options.upgrade ?? null;
    this.tellsLate = options.tellsLate ?? false;
  }

  /** Where the pool's requests go; null where it has no upstream. */
  targetOf(spec: PoolSpec): Target | null {
    const { name, upstream } = spec;
    if (upstream === null) {
      this.#targets.delete(name);
      return null;
    }
    const known = this.#targets.get(name);
    if (known?.spec === upstream) return known;
    const target = targetOf(upstream, known);
    this.#targets.set(name, target);
    return target;
  }
}
