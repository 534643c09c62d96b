/**
 * The proxy door: every path on a pool's host is the proxy's. A pool has no upstream yet in this
 * version, so a caller that passes is told so, and any other is told what the lock door would tell.
 */
import { Call } from './call.ts';
import type { Caller } from './callers.ts';
import { Callers } from './callers.ts';
import { faultAnswer } from './fault.ts';
import type { Peer, Server } from './server.ts';

export class ProxyDoor {
  readonly #server: Server;
  readonly #callers: Callers;

  constructor(server: Server) {
    this.#server = server;
    this.#callers = new Callers(server);
  }

  /** @param target path and query exactly as they were sent. */
  async answer(request: Request, peer: Peer, where: { pool: string; target: string }) {
    const call = new Call(this.#server, { request, peer, door: 'proxy', ...where });
    return answerTo(await this.#callers.check(call));
  }
}

function answerTo(caller: Caller): Response {
  const { code, parts } = caller.kind === 'fail'
    ? caller
    : { code: 'no_upstream', parts: {} } as const;
  return faultAnswer(code, { ...parts, headers: { 'x-nthpool-error': code } });
}
