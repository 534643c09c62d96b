/**
 * Opens raw connections to upstreams, and makes lines of the runtime's sockets.
 */
import type { Address, Line } from '../http1/line.ts';
import { messageOf } from '../log.ts';
import type { Dial, DialReason, Origin, TlsReason } from '../upstream/forward/dial.ts';
import { DialError, LoopError } from '../upstream/forward/dial.ts';
import { ALPN, Handshakes } from './handshakes.ts';

const handshakes = new Handshakes();

/** Whether a connection to `remote` from `local` leads to one of this server's own listeners. */
export type IsOwn = (remote: Address, local: Address) => boolean;

/** A dial that nobody waits for any more ends at once, in TLS when the upstream lets it. */
export function dialer(isOwn: IsOwn): Dial {
  return (origin, givenUp) => dial(origin, { givenUp, isOwn });
}

async function dial(
  origin: Origin,
  { givenUp, isOwn }: { givenUp: AbortSignal; isOwn: IsOwn },
): Promise<Line> {
  const { hostname, port, isTls } = origin;
  let connection: Deno.TcpConn | Deno.TlsConn | null = null;
  try {
    if (isTls) await handshakes.mayBegin(origin, givenUp);
    const plain = connection = await Deno.connect({ hostname, port, signal: givenUp });
    givenUp.throwIfAborted();
    // Before any TLS, which may fail with itself, and tells no addresses afterwards.
    if (isOwn(plain.remoteAddr, plain.localAddr)) throw new LoopError();
    plain.setNoDelay(true);
    if (isTls) {
      // A host that has vanished ends its handshake, too, if only after hours.
      plain.setKeepAlive(true);
      const secured = connection = await Deno.startTls(plain, { hostname, alpnProtocols: ALPN });
      await handshakes.follow(secured.handshake(), origin, givenUp);
    }
    return lineOf(connection);
  } catch (error) {
    connection?.close();
    if (error instanceof LoopError) throw error;
    const isConnected = connection !== null;
    throw new DialError(isConnected && isTls ? tlsReasonOf(error) : reasonOf(error));
  }
}

export function lineOf(connection: Deno.TcpConn | Deno.TlsConn): Line {
  return {
    read: (into) => connection.read(into),
    write: (bytes) => connection.write(bytes),
    closeWrite: () => connection.closeWrite(),
    close: () => connection.close(),
  };
}

function reasonOf(error: unknown): DialReason {
  if (error instanceof Deno.errors.ConnectionRefused) return 'refused';
  const isDns = /lookup|resolve|name or service|no such host/i.test(messageOf(error));
  return isDns ? 'dns' : 'unreachable';
}

/** What the runtime says of a handshake that failed, the first that fits. */
const TLS_REASONS: readonly [said: RegExp, reason: TlsReason][] = [
  [/^invalid peer certificate: UnknownIssuer/, 'tls_issuer'],
  [/^invalid peer certificate: (certificate )?(expired|not ?valid ?yet)/i, 'tls_expired'],
  [/^invalid peer certificate: (certificate )?not ?valid ?for ?name/i, 'tls_name'],
  [/^invalid peer certificate/, 'tls_certificate'],
  [/InvalidContentType/, 'tls_none'],
  [/^received fatal alert/, 'tls_refused'],
];

const BROKEN_OFF = [Deno.errors.UnexpectedEof, Deno.errors.ConnectionReset];

function tlsReasonOf(error: unknown): TlsReason {
  if (BROKEN_OFF.some((kind) => error instanceof kind)) return 'tls_broken';
  const text = messageOf(error);
  return TLS_REASONS.find(([said]) => said.test(text))?.[1] ?? 'tls';
}
