/**
 * Opens raw connections to upstreams, and makes lines of the runtime's sockets.
 */
import type { Address, Line } from '../http1/line.ts';
import type { Origin } from '../upstream/forward/dial.ts';
import { DialError } from '../upstream/forward/dial.ts';
import { ALPN, Handshakes } from './handshakes.ts';

const handshakes = new Handshakes();

/**
 * @param givenUp ends a dial that nobody waits for any more: at once, or where its TLS handshake
 * has begun, when the upstream lets the runtime do so.
 */
export async function dial(origin: Origin, givenUp: AbortSignal): Promise<Line> {
  const { hostname, port, isTls } = origin;
  let connection: Deno.TcpConn | Deno.TlsConn | null = null;
  try {
    if (isTls) await handshakes.mayBegin(origin, givenUp);
    const plain = connection = await Deno.connect({ hostname, port, signal: givenUp });
    givenUp.throwIfAborted();
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
    throw new DialError(reasonOf(error, isTls));
  }
}

export function lineOf(connection: Deno.TcpConn | Deno.TlsConn): Line {
  return {
    read: (into) => connection.read(into),
    write: (bytes) => connection.write(bytes),
    closeWrite: () => connection.closeWrite(),
    close: () => connection.close(),
    remote: addressOf(connection.remoteAddr),
    local: addressOf(connection.localAddr),
  };
}

function addressOf(address: Deno.Addr): Address | null {
  if (address.transport !== 'tcp') return null;
  return { hostname: address.hostname, port: address.port };
}

function reasonOf(error: unknown, isTls: boolean): DialError['reason'] {
  if (error instanceof Deno.errors.ConnectionRefused) return 'refused';
  const text = error instanceof Error ? error.message : '';
  if (/lookup|resolve|name or service|no such host/i.test(text)) return 'dns';
  const isTlsFailure = isTls && /certificate|tls|handshake|alert|invalid/i.test(text);
  return isTlsFailure ? 'tls' : 'unreachable';
}
