/**
 * The listening socket, with TLS where it was asked for. A reload opens a second socket on the same
 * port with the new certificate before the first one closes, so that no caller meets a closed port.
 */
import { isLoopback, plainAddress } from '../cidr.ts';
import type { Peer } from '../http/server.ts';
import type { Address } from '../http1/line.ts';
import type { Serving } from '../http1/serving.ts';
import type { ServeSettings } from '../config.ts';
import { log, messageOf } from '../log.ts';
import { EXIT, Stop } from './command.ts';
import { lineOf } from './dial.ts';

const ACCEPT_AGAIN_MS = 50;
/** What is thrown where the caller is gone when its connection is taken. */
const LEFT = [
  Deno.errors.NotConnected,
  Deno.errors.ConnectionReset,
  Deno.errors.ConnectionAborted,
  Deno.errors.BrokenPipe,
];

export interface Tls {
  readonly cert: string;
  readonly key: string;
}

/** Reads the TLS files, where the settings name some, and sees that they can be used. */
export async function readTls({ tlsCert, tlsKey }: ServeSettings): Promise<Tls | null> {
  if (tlsCert === undefined || tlsKey === undefined) return null;
  const cert = await readPem(tlsCert, '--tls-cert');
  const key = await readPem(tlsKey, '--tls-key');
  try {
    Deno.listenTls({ hostname: '127.0.0.1', port: 0, cert, key }).close();
  } catch (error) {
    throw new Stop(EXIT.usage, `--tls-cert, --tls-key: ${messageOf(error)}`);
  }
  return { cert, key };
}

async function readPem(path: string, flag: string): Promise<string> {
  try {
    const text = await Deno.readTextFile(path);
    if (text.includes('-----BEGIN ')) return text;
  } catch (error) {
    throw new Stop(EXIT.usage, `${flag}: ${messageOf(error)}`);
  }
  throw new Stop(EXIT.usage, `${flag}: ${path} is no PEM file`);
}

export interface Bound {
  readonly host: string;
  readonly port: number;
  /** The flag that chose it. */
  readonly flag: string;
}

export class Listener {
  readonly #address: Bound;
  readonly #serving: Serving<Peer>;
  #listener: Deno.Listener | null = null;

  constructor(address: Bound, serving: Serving<Peer>) {
    this.#address = address;
    this.#serving = serving;
  }

  /** Listens, and returns the origin that callers use. */
  open(tls: Tls | null): string {
    const { host, port, flag } = this.#address;
    try {
      // A port that somebody holds must be an error, even where a reload could share it later.
      if (tls !== null) Deno.listen({ hostname: host, port }).close();
      this.#listen(port, tls);
    } catch (error) {
      const isTaken = error instanceof Deno.errors.AddrInUse;
      const why = isTaken ? `the port is taken; ${flag} names another` : messageOf(error);
      throw new Stop(EXIT.failed, `cannot listen on ${host}:${port}: ${why}`);
    }
    const addr = this.#addr as Deno.NetAddr;
    const shown = addr.hostname.includes(':') ? `[${addr.hostname}]` : addr.hostname;
    return `${tls === null ? 'http' : 'https'}://${shown}:${addr.port}`;
  }

  /** Whether a connection to `remote` from `local` leads here. */
  isAt(remote: Address, local: Address): boolean {
    const addr = this.#addr;
    if (addr === null || addr.port !== remote.port) return false;
    const hostname = plain(remote.hostname);
    if (plain(addr.hostname) === hostname) return true;
    const isWildcard = addr.hostname === '0.0.0.0' || addr.hostname === '::';
    return isWildcard && (isLoopback(hostname) || remote.hostname === local.hostname);
  }

  /** Takes the new TLS files into use for connections from now on. */
  reload(tls: Tls | null): void {
    const old = this.#listener;
    if (tls === null || old === null) return;
    this.#listen((this.#addr as Deno.NetAddr).port, tls);
    old.close();
  }

  /** Resolves when all that was asked has been answered; who comes meanwhile is answered, too. */
  finish(): Promise<void> {
    return this.#serving.finish();
  }

  /** How many callers wait for an answer. */
  get underWay(): number {
    return this.#serving.underWay;
  }

  close(): void {
    this.#listener?.close();
    this.#listener = null;
  }

  get #addr(): Deno.NetAddr | null {
    return this.#listener === null ? null : this.#listener.addr as Deno.NetAddr;
  }

  #listen(port: number, tls: Tls | null): void {
    const options = { hostname: this.#address.host, port };
    const listener = tls === null
      ? Deno.listen(options)
      : Deno.listenTls({ ...options, ...tls, reusePort: true, alpnProtocols: ['http/1.1'] });
    this.#listener = listener;
    void this.#accept(listener);
  }

  #take(connection: Deno.TcpConn | Deno.TlsConn): void {
    try {
      if ('setNoDelay' in connection) connection.setNoDelay(true);
      const remoteAddr = connection.remoteAddr as Deno.NetAddr;
      this.#serving.take(lineOf(connection), { remoteAddr });
    } catch (error) {
      connection.close();
      throw error;
    }
  }

  async #accept(listener: Deno.Listener): Promise<void> {
    for (let isFailing = false;;) {
      try {
        const connection = await listener.accept() as Deno.TcpConn | Deno.TlsConn;
        isFailing = false;
        this.#take(connection);
      } catch (error) {
        if (error instanceof Deno.errors.BadResource) return;
        // A caller that has left already holds up nobody.
        if (LEFT.some((kind) => error instanceof kind)) continue;
        // Too many open files, say: later the next may be served.
        if (!isFailing) {
          log.warn('no connection is accepted: {reason}', { reason: messageOf(error) });
        }
        isFailing = true;
        await new Promise((done) => setTimeout(done, ACCEPT_AGAIN_MS));
      }
    }
  }
}

function plain(hostname: string): string {
  return plainAddress(hostname) ?? hostname;
}
