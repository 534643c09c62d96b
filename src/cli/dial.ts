/**
 * Opens raw connections to upstreams with the runtime's sockets, and takes over the connection of a
 * caller that asks for WebSocket. The only place where the proxy meets the runtime.
 */
import type { Upgrade } from '../http/forwarding.ts';
import type { Address, Line, Origin } from '../upstream/forward/line.ts';
import { DialError } from '../upstream/forward/line.ts';

export async function dial({ hostname, port, isTls }: Origin): Promise<Line> {
  try {
    const connection = isTls
      ? await Deno.connectTls({ hostname, port, alpnProtocols: ['http/1.1'] })
      : await Deno.connect({ hostname, port });
    if ('setNoDelay' in connection) connection.setNoDelay(true);
    if (isTls) await (connection as Deno.TlsConn).handshake();
    return lineOf(connection);
  } catch (error) {
    throw new DialError(reasonOf(error, isTls));
  }
}

function lineOf(connection: Deno.TcpConn | Deno.TlsConn): Line {
  return {
    read: (into) => connection.read(into),
    write: (bytes) => connection.write(bytes),
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

/**
 * Frames are relayed, so there are no pings of the runtime's own. Where the caller's list of
 * protocols is spelled in a way that the runtime does not take apart, the header is set instead;
 * older runtimes let no header be set.
 */
export const upgrade: Upgrade = (request, protocol, headers) => {
  const offered = request.headers.get('sec-websocket-protocol')?.split(', ') ?? [];
  const isListed = protocol !== null && offered.includes(protocol);
  const { socket, response } = Deno.upgradeWebSocket(request, {
    idleTimeout: 0,
    ...(isListed ? { protocol } : {}),
  });
  try {
    for (const [name, value] of Object.entries(headers)) response.headers.set(name, value);
    if (protocol !== null) response.headers.set('sec-websocket-protocol', protocol);
  } catch {
    // Immutable: the answer goes without them.
  }
  return { socket, response };
};

/** Seen on 2.9.6, and not yet on 2.4.2. */
export const TELLS_LATE = isAtLeast(Deno.version.deno, 2, 9);

function isAtLeast(version: string, major: number, minor: number): boolean {
  const [first = 0, second = 0] = version.split('.').map(Number);
  return first > major || (first === major && second >= minor);
}
