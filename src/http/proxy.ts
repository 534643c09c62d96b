/**
 * The proxy door: every path on a pool's host is the proxy's. A pool has no upstream yet in this
 * version, so a caller that passes is told so, and any other is told what the lock door would tell.
 */
import { judgeKey } from '../access/key_policy.ts';
import { faultAnswer } from './fault.ts';
import type { Peer, Server } from './server.ts';
import { epochMs } from './server.ts';

export class ProxyDoor {
  readonly #server: Server;

  constructor(server: Server) {
    this.#server = server;
  }

  answer(request: Request, _peer: Peer, name: string): Response {
    const entry = this.#server.directory.get(name);
    if (entry === undefined) return unauthorized();
    const { headers } = request;
    const judgement = judgeKey(entry.keys, entry.spec.access.key, {
      headers,
      epochMs: () => epochMs(this.#server),
    });
    if (judgement.kind === 'fail') return unauthorized();
    return faultAnswer('no_upstream', { headers: { 'x-nthpool-error': 'no_upstream' } });
  }
}

function unauthorized(): Response {
  return faultAnswer('unauthorized', { headers: { 'x-nthpool-error': 'unauthorized' } });
}
