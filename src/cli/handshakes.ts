/**
 * TLS handshakes with upstreams that were given up. The runtime closes such a connection only when
 * the upstream has ended or answered it, so that one that takes connections and never speaks would
 * be left one more by every request. Where it was left many, each further dial waits until it has
 * answered a connection of the runtime's Node side, which can be closed. (That side carries no
 * requests: it loses the end of a long answer.)
 */
import { connect } from 'node:tls';
import type { Origin } from '../upstream/forward/dial.ts';
import { nameOf } from '../upstream/forward/connections.ts';

const LEFT_MAX = 16;

export const ALPN = ['http/1.1'];

export class Handshakes {
  /** How many were given up and have not ended, by upstream; none: no entry. */
  readonly #left = new Map<string, number>();

  /** Resolves when a handshake may be begun, or when it is wanted no more. */
  async mayBegin(origin: Origin, givenUp: AbortSignal): Promise<void> {
    if (this.#leftOf(origin) >= LEFT_MAX) await untilAnswered(origin, givenUp);
  }

  /** Counts a handshake that has begun as left over from when it is given up until it ends. */
  async follow(
    handshake: Promise<unknown>,
    origin: Origin,
    givenUp: AbortSignal,
  ): Promise<void> {
    let counted = 0;
    const count = () => this.#add(origin, counted = 1);
    givenUp.addEventListener('abort', count);
    if (givenUp.aborted) count();
    try {
      await handshake;
    } finally {
      givenUp.removeEventListener('abort', count);
      this.#add(origin, -counted);
    }
  }

  #leftOf(origin: Origin): number {
    return this.#left.get(nameOf(origin)) ?? 0;
  }

  #add(origin: Origin, count: number): void {
    const left = this.#leftOf(origin) + count;
    if (left === 0) this.#left.delete(nameOf(origin));
    else this.#left.set(nameOf(origin), left);
  }
}

/** Whatever the answer is, the dial that follows meets it, too, and tells of it. */
function untilAnswered({ hostname, port }: Origin, givenUp: AbortSignal): Promise<void> {
  return new Promise((done) => {
    const trial = connect({ host: hostname, port, ALPNProtocols: ALPN });
    const end = () => {
      trial.destroy();
      done();
    };
    trial.on('secureConnect', end).on('error', end).on('close', end);
    givenUp.addEventListener('abort', end, { once: true });
  });
}
