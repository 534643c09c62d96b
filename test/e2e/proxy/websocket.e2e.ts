/**
 * WebSocket through the proxy: every byte passes, with it extensions, pings and closing codes; the
 * slot is held until the socket closes, and an upstream that does not agree is heard.
 */
import { connect } from 'node:net';
import { WebSocket, WebSocketServer } from 'ws';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { answering, holds, RawCaller, RawUpstream, sleep } from './raw.ts';
import { ProxyServer } from './server.ts';

const server = new ProxyServer();
const sockets = new WebSocketServer({
  port: 0,
  host: '127.0.0.1',
  perMessageDeflate: { threshold: 0 },
  handleProtocols: (offered) => offered.has('two') ? 'two' : false,
});
const refusing = answering('HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\n\r\nno');
const raw = new RawUpstream(refusing);
let headers: Record<string, unknown> = {};

beforeAll(async () => {
  sockets.on('connection', (socket, request) => {
    headers = request.headers;
    socket.on('message', (message, isBinary) => {
      const text = String(message);
      if (text.startsWith('close ')) socket.close(Number(text.slice(6)), 'asked');
      else if (text === 'gone') socket.terminate();
      else socket.send(message, { binary: isBinary });
    });
  });
  await raw.listen();
  await server.start();
  await server.pool('echo', (sockets.address() as { port: number }).port, { limit: 1 });
  await server.pool('other', raw.port, { limit: 1, upstream: { stallTimeoutMs: 1000 } });
});
afterAll(() => {
  sockets.close();
  for (const socket of sockets.clients) socket.terminate();
  raw.close();
});

const SWITCHED = 'HTTP/1.1 101 As you like\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n';

function open(pool: string, protocols: string[] = []): WebSocket {
  return new WebSocket(`ws://${pool}.localhost/path?x=1`, protocols, {
    createConnection: () => connect(server.port, '127.0.0.1'),
    headers: { 'x-own': '1' },
  });
}

function event(socket: WebSocket, name: string): Promise<unknown[]> {
  return new Promise((resolve, reject) => {
    socket.once(name, (...args) => resolve(args));
    if (name !== 'error') socket.once('error', reject);
  });
}

async function echo(socket: WebSocket, message: string | Buffer): Promise<unknown> {
  const answer = event(socket, 'message');
  socket.send(message);
  const [got, isBinary] = await answer;
  return isBinary ? got : String(got);
}

describe('an upgrade to WebSocket', () => {
  it('carries messages both ways and holds the slot until it closes', async () => {
    const socket = open('echo', ['one', 'two']);
    await event(socket, 'open');
    expect(socket.protocol).toBe('two');
    expect(headers).toMatchObject({ 'x-own': '1', 'sec-websocket-protocol': 'one,two' });
    expect(await echo(socket, 'hellö')).toBe('hellö');
    expect(await echo(socket, '')).toBe('');
    for (const size of [1, 125, 126, 65_535, 65_536, 3_000_000]) {
      const bytes = Buffer.alloc(size, 'q');
      expect(bytes.equals(await echo(socket, bytes) as Buffer)).toBe(true);
    }
    expect(await server.capacity('echo')).toBe(0);
    const upstream = [...sockets.clients][0];
    const closed = new Promise((done) => upstream?.once('close', (...args) => done(args)));
    socket.close(4321, 'bye');
    const [code, reason] = await closed as [number, Buffer];
    expect([code, String(reason)]).toEqual([4321, 'bye']);
    expect(await server.capacityWithin('echo', 1, 2000)).toBe(1);
  });

  it.each([1000, 1001, 1009, 1011, 3000, 4000])(
    'closed by the upstream with %i is closed with the same',
    async (sent) => {
      const socket = open('echo');
      await event(socket, 'open');
      const closed = event(socket, 'close');
      socket.send(`close ${sent}`);
      const [code, reason] = await closed;
      expect([code, String(reason)]).toEqual([sent, 'asked']);
      expect(await server.capacityWithin('echo', 1, 2000)).toBe(1);
    },
  );

  it('lets both ends agree on compression, and their pings and pongs pass', async () => {
    const socket = open('echo');
    await event(socket, 'open');
    expect(socket.extensions).toContain('permessage-deflate');
    expect(await echo(socket, 'a'.repeat(5000))).toBe('a'.repeat(5000));
    const upstream = [...sockets.clients][0] as WebSocket;
    expect(upstream.extensions).toContain('permessage-deflate');
    for (const [from, to] of [[socket, upstream], [upstream, socket]] as const) {
      const asked = event(to, 'ping');
      const answered = event(from, 'pong');
      from.ping('beat');
      expect([await asked, await answered].map(([data]) => String(data))).toEqual(['beat', 'beat']);
    }
    socket.close();
    expect(await server.capacityWithin('echo', 1, 2000)).toBe(1);
  });

  it('joins the connections byte for byte, with the headers of both', async () => {
    const frames = '\x81\x02hi\x01\x02he\x89\x01p\x80\x03llo\xff\0';
    raw.play = (socket) => {
      socket.write(`${SWITCHED}X-Up: 1\r\nSec-WebSocket-Accept: any\r\n\r\n${frames}`, 'latin1');
      socket.on('data', (bytes) => void socket.write(bytes));
    };
    const caller = new RawCaller(server.port).send(
      'GET /a HTTP/1.1\r\nHost: other.localhost\r\nConnection: keep-alive, Upgrade\r\n' +
        'Upgrade: WebSocket\r\nSec-WebSocket-Key: of the caller\r\nSec-WebSocket-Version: 13\r\n' +
        `\r\n${frames}`,
    );
    const received = await caller.until(new RegExp(`(${frames}){2}`));
    const [head = '', ...rest] = received.split('\r\n\r\n');
    expect(rest.join('\r\n\r\n')).toBe(frames + frames);
    expect(head.split('\r\n').filter((line) => !line.startsWith('x-nthpool-')).toSorted()).toEqual([
      'HTTP/1.1 101 As you like',
      'Sec-WebSocket-Accept: any',
      'X-Up: 1',
      'connection: Upgrade',
      'upgrade: websocket',
    ]);
    expect(raw.requests.at(-1)?.head.split('\r\n')).toEqual(expect.arrayContaining([
      'Sec-WebSocket-Key: of the caller',
      'Sec-WebSocket-Version: 13',
      'connection: Upgrade',
      'upgrade: websocket',
    ]));
    caller.close();
    expect(await server.capacityWithin('other', 1)).toBe(1);
    expect(await holds(() => raw.sockets.size === 0)).toBe(true);
  });

  it('is quiet only where no byte moves, pings included', async () => {
    let beat: ReturnType<typeof setInterval> | undefined;
    raw.play = (socket) => {
      socket.write(`${SWITCHED}\r\n`);
      beat = setInterval(() => void socket.write('\x89\0', 'latin1'), 300);
      socket.on('close', () => clearInterval(beat));
    };
    const caller = new RawCaller(server.port).send(
      'GET /a HTTP/1.1\r\nHost: other.localhost\r\nConnection: Upgrade\r\n' +
        'Upgrade: websocket\r\n\r\n',
    );
    await caller.until(/ 101 /);
    await sleep(2500);
    expect(caller.ended).toBe(null);
    clearInterval(beat);
    await caller.until('ended', 4000);
    expect(await server.capacityWithin('other', 1)).toBe(1);
    expect(await holds(() => raw.sockets.size === 0)).toBe(true);
  });

  it('ends when either side is cut', async () => {
    const first = open('echo');
    await event(first, 'open');
    first.send('gone');
    await event(first, 'close');
    expect(await server.capacityWithin('echo', 1)).toBe(1);
    const second = open('echo');
    await event(second, 'open');
    second.terminate();
    expect(await server.capacityWithin('echo', 1)).toBe(1);
    expect(await holds(() => sockets.clients.size === 0)).toBe(true);
  });

  it('is refused as the upstream refuses it', async () => {
    raw.play = refusing;
    const [error] = await event(open('other'), 'error') as [Error];
    expect(error.message).toContain('404');
    expect(await server.capacityWithin('other', 1)).toBe(1);
    raw.play = () => {};
    const [late] = await event(open('other'), 'error') as [Error];
    expect(late.message).toContain('504');
    raw.play = answering(SWITCHED.replace('websocket', 'other') + '\r\n');
    const [odd] = await event(open('other'), 'error') as [Error];
    expect(odd.message).toContain('502');
    raw.play = (socket) => void socket.destroy();
    const [cut] = await event(open('other'), 'error') as [Error];
    expect(cut.message).toContain('502');
    expect(await server.capacityWithin('other', 1)).toBe(1);
    expect(await holds(() => raw.sockets.size === 0)).toBe(true);
  });

  it('to anything else is told that it is not supported', async () => {
    const caller = new RawCaller(server.port);
    caller.send(
      'GET / HTTP/1.1\r\nHost: echo.localhost\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n',
    );
    expect(await caller.until(/"}$/)).toMatch(/^HTTP\/1\.1 501[\s\S]*upgrade_unsupported/);
    caller.close();
  });
});
