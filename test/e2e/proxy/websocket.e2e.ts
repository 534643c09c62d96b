/**
 * WebSocket through the proxy: messages, subprotocols and closing codes pass, the slot is held
 * until the socket closes, and an upstream that does not agree is heard.
 */
import { connect } from 'node:net';
import { WebSocket, WebSocketServer } from 'ws';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { answering, holds, RawCaller, RawUpstream } from './raw.ts';
import { ProxyServer } from './server.ts';

const server = new ProxyServer();
const sockets = new WebSocketServer({
  port: 0,
  host: '127.0.0.1',
  handleProtocols: (offered) => offered.has('two') ? 'two' : false,
});
const raw = new RawUpstream(answering('HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\n\r\nno'));
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

  it.each([[1000, 1000], [4000, 4000], [1011, 4011]])(
    'closed by the upstream with %i is closed with %i',
    async (sent, told) => {
      const socket = open('echo');
      await event(socket, 'open');
      const closed = event(socket, 'close');
      socket.send(`close ${sent}`);
      const [code, reason] = await closed;
      expect([code, String(reason)]).toEqual([told, 'asked']);
      expect(await server.capacityWithin('echo', 1, 2000)).toBe(1);
    },
  );

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
    const [error] = await event(open('other'), 'error') as [Error];
    expect(error.message).toContain('404');
    expect(await server.capacityWithin('other', 1)).toBe(1);
    raw.play = () => {};
    const [late] = await event(open('other'), 'error') as [Error];
    expect(late.message).toContain('504');
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
