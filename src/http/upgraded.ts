/**
 * A proxied request that asks for WebSocket: the upstream is asked first, and only where it agrees
 * is the caller's connection taken over. Any other answer of the upstream is passed on as it is.
 */
import type { Connection } from '../upstream/forward/connection.ts';
import type { Handshake } from '../upstream/forward/handshake.ts';
import { isAccepted, protocolOf } from '../upstream/forward/handshake.ts';
import type { AnswerHead } from '../upstream/forward/head.ts';
import { MalformedError } from '../upstream/forward/head.ts';
import { Relay } from '../upstream/forward/relay.ts';
import type { Upgrade } from './forwarding.ts';
import type { Proxied } from './proxied.ts';
import type { Server } from './server.ts';

export class Upgraded {
  readonly #server: Server;
  readonly #proxied: Proxied;

  constructor(server: Server, proxied: Proxied) {
    this.#server = server;
    this.#proxied = proxied;
  }

  answer(handshake: Handshake): Promise<Response> {
    return this.#proxied.answer((head) => head.status === 101 ? this.#open(head, handshake) : null);
  }

  #open(head: AnswerHead, handshake: Handshake): Response {
    const connection = this.#proxied.exchange.detach() as Connection;
    const opened = isAccepted(head, handshake) ? this.#takeOver(head) : null;
    if (opened === null) {
      connection.close();
      throw new MalformedError('a WebSocket handshake that does not fit');
    }
    const relay = new Relay(opened.socket, connection, {
      guard: this.#server.forwarding.guard,
      nowMs: this.#server.forwarding.nowMs,
      limits: this.#proxied.limits,
      ended: () => this.#proxied.carriedOut(),
    });
    this.#proxied.handOver(relay);
    return opened.response;
  }

  /** The caller's connection; null where its runtime refuses, such as a protocol not offered. */
  #takeOver(head: AnswerHead): ReturnType<Upgrade> | null {
    const { request, ownHeaders } = this.#proxied;
    const upgrade = this.#server.forwarding.upgrade as Upgrade;
    try {
      return upgrade(request, protocolOf(head), ownHeaders);
    } catch {
      return null;
    }
  }
}
