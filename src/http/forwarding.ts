/**
 * What the proxy door forwards with: the pooled connections, the guard over all exchanges, where
 * each pool's requests go, and which proxied requests are under way.
 */
import type { PoolSpec } from '../wire.ts';
import { Connections } from '../upstream/forward/connections.ts';
import { Guard } from '../upstream/forward/guard.ts';
import type { Dial } from '../upstream/forward/dial.ts';
import type { Means } from '../upstream/forward/exchange.ts';
import type { Placed } from '../upstream/forward/roster.ts';
import { Roster } from '../upstream/forward/roster.ts';
import type { Target } from '../upstream/target.ts';
import { targetOf } from '../upstream/target.ts';

export interface ForwardingOptions {
  readonly dial: Dial;
  readonly nowMs: () => number;
}

/** A proxied request that is under way. */
export interface UnderWay extends Placed {
  readonly pool: string;
  readonly slotId: string;
  /** Since when no byte has moved. */
  readonly quietSinceMs: number;
  /** Ends it: its slot was taken back. */
  end(): void;
}

export class Forwarding implements Means {
  readonly connections: Connections;
  readonly guard: Guard;
  readonly nowMs: () => number;
  readonly underWay = new Roster<UnderWay>();
  readonly #targets = new Map<string, Target>();

  constructor(options: ForwardingOptions) {
    this.nowMs = options.nowMs;
    this.connections = new Connections(options);
    this.guard = new Guard(options.nowMs, () => this.connections.sweep());
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

  /** The pool is gone: one of the same name begins with nothing of its. */
  forget(pool: string): void {
    this.#targets.delete(pool);
  }
}
