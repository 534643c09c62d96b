/**
 * A proxied request that asks for WebSocket: the upstream is asked first, and only where it agrees
 * are the two connections joined. Any other answer of the upstream is passed on as it is.
 */
import type { Answer } from '../http1/answer.ts';
import { headerText } from '../http1/answer.ts';
import { MalformedError } from '../http1/head.ts';
import type { AnswerHead } from '../upstream/forward/answer_head.ts';
import { Tunnel } from '../upstream/forward/tunnel.ts';
import type { UpstreamConnection } from '../upstream/forward/upstream_connection.ts';
import type { Proxied } from './proxied.ts';
import type { Server } from './server.ts';

const SWITCHED = headerText({ connection: 'Upgrade', upgrade: 'websocket' });

export function upgraded(server: Server, proxied: Proxied): Promise<Answer> {
  return proxied.answer((head) => head.status === 101 ? joined(server, proxied, head) : null);
}

function joined({ forwarding }: Server, proxied: Proxied, head: AnswerHead): Answer {
  const upstream = proxied.exchange.detach() as UpstreamConnection;
  if (!head.headers.words('upgrade').includes('websocket')) {
    upstream.close();
    throw new MalformedError('a switch to another protocol than was asked for');
  }
  const { guard, nowMs } = forwarding;
  const { limits, exchange: { startedAtMs } } = proxied;
  const tunnel = new Tunnel(upstream, { guard, nowMs, limits, startedAtMs });
  proxied.goesOnIn(tunnel);
  const { headers, ...answer } = proxied.withHeaders(head, null);
  return {
    ...answer,
    headers: headers + SWITCHED,
    tunnel: async (caller, head) => {
      await tunnel.carry(caller, head);
      proxied.tunnelEnded();
    },
  };
}
