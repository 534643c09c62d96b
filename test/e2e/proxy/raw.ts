/**
 * Both ends of a proxied connection as raw bytes: an upstream that records what it gets and answers
 * what it is told to, and a caller that sends what it is given. Texts are Latin-1.
 */
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** What an upstream does with one request. */
export type Play = (socket: Socket, request: RawRequest) => void;

export interface RawRequest {
  readonly head: string;
  /** What came behind the head so far; grows. */
  body: string;
}

export class RawUpstream {
  readonly requests: RawRequest[] = [];
  readonly sockets = new Set<Socket>();
  readonly #server: Server;
  accepted = 0;
  play: Play;

  /** @param play done once for each request, when its head is there. */
  constructor(play: Play) {
    this.play = play;
    this.#server = createServer((socket) => this.#serve(socket));
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async listen(): Promise<this> {
    await new Promise<void>((done) => this.#server.listen(0, '127.0.0.1', done));
    return this;
  }

  close(): void {
    for (const socket of this.sockets) socket.destroy();
    this.#server.close();
  }

  #serve(socket: Socket): void {
    this.accepted++;
    this.sockets.add(socket);
    let text = '';
    let current: RawRequest | null = null;
    socket.on('error', () => {});
    socket.on('close', () => this.sockets.delete(socket));
    socket.on('data', (bytes) => {
      text += bytes.toString('latin1');
      for (;;) {
        if (current !== null) {
          const whole = bodyLength(current.head, text);
          if (whole === null) {
            current.body = text;
            return;
          }
          current.body = text.slice(0, whole);
          text = text.slice(whole);
          current = null;
        }
        const end = text.indexOf('\r\n\r\n');
        if (end < 0) return;
        current = { head: text.slice(0, end + 4), body: '' };
        text = text.slice(end + 4);
        this.requests.push(current);
        this.play(socket, current);
      }
    });
  }
}

/** How long a body is that begins `text`; null where it is not whole yet. */
function bodyLength(head: string, text: string): number | null {
  const [, length] = /\r\ncontent-length: (\d+)\r\n/i.exec(head) ?? [];
  if (length !== undefined) return text.length >= Number(length) ? Number(length) : null;
  if (!/\r\ntransfer-encoding: chunked\r\n/i.test(head)) return 0;
  const end = /(^|\r\n)0\r\n\r\n/.exec(text);
  return end === null ? null : end.index + end[0].length;
}

/** A plain answer with a length. */
export function plain(body = 'ok', lines = ''): string {
  return `HTTP/1.1 200 OK\r\n${lines}content-length: ${body.length}\r\n\r\n${body}`;
}

/** The content of a whole body in chunks. */
export function unchunked(text: string): string {
  const [, size = ''] = /^([0-9a-f]+)\r\n/.exec(text) ?? [];
  const [start, length] = [size.length + 2, parseInt(size, 16)];
  if (length === 0) return '';
  return text.slice(start, start + length) + unchunked(text.slice(start + length + 2));
}

export function answering(text: string): Play {
  return (socket) => void socket.write(Buffer.from(text, 'latin1'));
}

/** Calls once so many bytes of the request's body are there. */
export function whenCame(request: RawRequest, bytes: number, then: () => void): void {
  const timer = setInterval(() => {
    if (request.body.length < bytes) return;
    clearInterval(timer);
    then();
  }, 5);
}

/** Answers a body of so many bytes with the same. */
export function echoing(bytes: number): Play {
  return (socket, request) =>
    whenCame(request, bytes, () => socket.write(Buffer.from(plain(request.body), 'latin1')));
}

export class RawCaller {
  readonly socket: Socket;
  received = '';
  /** How the connection ended, null while it is open. */
  ended: string | null = null;
  readonly #watchers = new Set<() => void>();

  constructor(port: number) {
    this.socket = connect(port, '127.0.0.1');
    this.socket.on('data', (bytes) => {
      this.received += bytes.toString('latin1');
      this.#tell();
    });
    this.socket.on('end', () => this.#end('end'));
    this.socket.on('error', (error) => this.#end(String((error as { code?: string }).code)));
    this.socket.on('close', () => this.#end('close'));
  }

  send(text: string): this {
    this.socket.write(Buffer.from(text, 'latin1'));
    return this;
  }

  /** Resolves when what was received matches, or the connection ended, or the time is over. */
  until(wanted: RegExp | 'ended', withinMs = 5000): Promise<string> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#watchers.delete(look);
        reject(new Error(`not within ${withinMs} ms: ${wanted}; got ${this.received}`));
      }, withinMs);
      const look = () => {
        const isMet = wanted !== 'ended' && wanted.test(this.received);
        if (!isMet && this.ended === null) return;
        clearTimeout(timer);
        this.#watchers.delete(look);
        resolve(this.received);
      };
      this.#watchers.add(look);
      look();
    });
  }

  reset(): void {
    this.socket.resetAndDestroy();
  }

  close(): void {
    this.socket.destroy();
  }

  #end(how: string): void {
    this.ended ??= how;
    this.#tell();
  }

  #tell(): void {
    for (const look of [...this.#watchers]) look();
  }
}

export function sleep(ms: number): Promise<void> {
  return new Promise((done) => setTimeout(done, ms));
}

/** Waits until something holds; false where it does not within the time. */
export async function holds(check: () => boolean, withinMs = 2000): Promise<boolean> {
  const until = performance.now() + withinMs;
  while (!check()) {
    if (performance.now() > until) return false;
    await sleep(10);
  }
  return true;
}

/** A port that nobody listens on now. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  await new Promise((done) => server.close(done));
  return port;
}
