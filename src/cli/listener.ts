/**
 * The listening socket, with TLS where it was asked for. A reload opens a second socket on the same
 * port with the new certificate before the first one closes, so that no caller meets a closed port.
 */
import { isLoopback, plainAddress } from '../cidr.ts';
import type { Fetch } from '../http/app.ts';
import type { ServeSettings } from '../config.ts';
import { messageOf } from '../log.ts';
import type { Address } from '../upstream/forward/line.ts';
import { EXIT, Stop } from './command.ts';

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

/** Bodies are never compressed on the way. Older runtimes do not know the option, and compress. */
const PLAIN = { automaticCompression: false };

export interface Bound {
  readonly host: string;
  readonly port: number;
  /** The flag that chose it. */
  readonly flag: string;
}

export class Listener {
  readonly #address: Bound;
  readonly #fetch: Fetch;
  readonly #uploaded: () => Promise<void>;
  #server: Deno.HttpServer<Deno.NetAddr> | null = null;
  /** The servers of earlier certificates that still answer what they took. */
  readonly #closing = new Set<Promise<void>>();

  /** @param uploaded resolves when the bodies that are being read have come, or late enough. */
  constructor(address: Bound, fetch: Fetch, uploaded: () => Promise<void>) {
    this.#address = address;
    this.#fetch = fetch;
    this.#uploaded = uploaded;
  }

  /** Listens, and returns the origin that callers use. */
  open(tls: Tls | null): string {
    const { host, port, flag } = this.#address;
    try {
      // A port that somebody holds must be an error, even where a reload could share it later.
      if (tls !== null) Deno.listen({ hostname: host, port }).close();
      this.#server = this.#serve(port, tls);
    } catch (error) {
      const isTaken = error instanceof Deno.errors.AddrInUse;
      const why = isTaken ? `the port is taken; ${flag} names another` : messageOf(error);
      throw new Stop(EXIT.failed, `cannot listen on ${host}:${port}: ${why}`);
    }
    const { addr } = this.#server;
    const shown = addr.hostname.includes(':') ? `[${addr.hostname}]` : addr.hostname;
    return `${tls === null ? 'http' : 'https'}://${shown}:${addr.port}`;
  }

  /** Whether a connection to `remote` from `local` leads here. */
  isAt(remote: Address, local: Address | null): boolean {
    const addr = this.#server?.addr;
    if (addr === undefined || addr.port !== remote.port) return false;
    const hostname = plain(remote.hostname);
    if (plain(addr.hostname) === hostname) return true;
    const isWildcard = addr.hostname === '0.0.0.0' || addr.hostname === '::';
    return isWildcard && (isLoopback(hostname) || remote.hostname === local?.hostname);
  }

  /** Takes the new TLS files into use; until uploads of before have come, beside the old ones. */
  reload(tls: Tls | null): void {
    if (tls === null || this.#server === null) return;
    const old = this.#server;
    this.#server = this.#serve(old.addr.port, tls);
    const closed = this.#shutDown(old).finally(() => this.#closing.delete(closed));
    this.#closing.add(closed);
  }

  /**
   * Takes no new connection once the bodies under way have come, and resolves when all has been
   * answered, on sockets of before a reload too.
   */
  async close(): Promise<void> {
    const last = this.#server === null ? [] : [this.#shutDown(this.#server)];
    await Promise.all([...last, ...this.#closing]);
  }

  /** A runtime that shuts down breaks off the bodies that it has not read (seen on 2.9.6). */
  async #shutDown(server: Deno.HttpServer): Promise<void> {
    await this.#uploaded();
    await server.shutdown();
  }

  #serve(port: number, tls: Tls | null): Deno.HttpServer<Deno.NetAddr> {
    const options = { hostname: this.#address.host, port, onListen: () => {}, ...PLAIN };
    const fetch = this.#fetch;
    if (tls === null) return Deno.serve(options, fetch);
    return Deno.serve({ ...options, ...tls, reusePort: true }, fetch);
  }
}

function plain(hostname: string): string {
  return plainAddress(hostname) ?? hostname;
}
