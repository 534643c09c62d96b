/**
 * The listening socket, with TLS where it was asked for. A reload opens a second socket on the same
 * port with the new certificate before the first one closes, so that no caller meets a closed port.
 */
import type { Fetch } from '../http/app.ts';
import type { ServeSettings } from '../config.ts';
import { messageOf } from '../log.ts';
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

export class Listener {
  readonly #settings: ServeSettings;
  readonly #fetch: Fetch;
  #server: Deno.HttpServer<Deno.NetAddr> | null = null;

  constructor(settings: ServeSettings, fetch: Fetch) {
    this.#settings = settings;
    this.#fetch = fetch;
  }

  /** Listens, and returns the origin that callers use. */
  open(tls: Tls | null): string {
    const { host, port } = this.#settings;
    try {
      // A port that somebody holds must be an error, even where a reload could share it later.
      if (tls !== null) Deno.listen({ hostname: host, port }).close();
      this.#server = this.#serve(port, tls);
    } catch (error) {
      throw new Stop(EXIT.failed, `cannot listen on ${host}:${port}: ${messageOf(error)}`);
    }
    const { addr } = this.#server;
    const shown = addr.hostname.includes(':') ? `[${addr.hostname}]` : addr.hostname;
    return `${tls === null ? 'http' : 'https'}://${shown}:${addr.port}`;
  }

  /** Takes the new TLS files into use. */
  reload(tls: Tls | null): void {
    if (tls === null || this.#server === null) return;
    const old = this.#server;
    this.#server = this.#serve(old.addr.port, tls);
    void old.shutdown();
  }

  /** Takes no new connection, and resolves when what is under way has been answered. */
  async close(): Promise<void> {
    await this.#server?.shutdown();
  }

  #serve(port: number, tls: Tls | null): Deno.HttpServer<Deno.NetAddr> {
    const options = { hostname: this.#settings.host, port, onListen: () => {} };
    const fetch = this.#fetch;
    if (tls === null) return Deno.serve(options, fetch);
    return Deno.serve({ ...options, ...tls, reusePort: true }, fetch);
  }
}
