/**
 * Opens raw connections to upstreams, and makes lines of the runtime's sockets.
 */
import type { Address, Line } from '../http1/line.ts';
import type { Origin } from '../upstream/forward/dial.ts';
import { DialError } from '../upstream/forward/dial.ts';

export async function dial({ hostname, port, isTls }: Origin): Promise<Line> {
  let connection: Deno.TcpConn | Deno.TlsConn | null = null;
  try {
    connection = isTls
      ? await Deno.connectTls({ hostname, port, alpnProtocols: ['http/1.1'] })
      : await Deno.connect({ hostname, port });
    if ('setNoDelay' in connection) connection.setNoDelay(true);
    if (isTls) await (connection as Deno.TlsConn).handshake();
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
