/**
 * Either side breaks off at every stage of a request, uploads and downloads under way included.
 * After each the one slot must be free again within a second, and the request was sent once.
 */
import { type AddressInfo, createServer } from 'node:net';
import { beforeAll, describe, expect, it } from 'vitest';
import { holds, plain, type Play, RawCaller, sleep } from './raw.ts';
import { stage } from './stage.ts';

const { server, upstream } = stage();
const HOST = 'Host: stages.localhost\r\n';
const GET = `GET /a HTTP/1.1\r\n${HOST}\r\n`;
const CHUNKS = `POST /a HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\n5\r\nhalf`;
const STALL_MS = 3000;

beforeAll(() =>
  server.pool('stages', upstream.port, { limit: 1, upstream: { stallTimeoutMs: STALL_MS } })
);

const silent: Play = () => {};
/** Reads the head, and nothing of the body. */
const deaf: Play = (socket) => void socket.pause();
const endless: Play = (socket) => {
  socket.write('HTTP/1.1 200 OK\r\ncontent-length: 1000000000\r\n\r\n');
  const more = () => {
    while (!socket.destroyed && socket.write(Buffer.alloc(65_536)));
  };
  socket.on('drain', more);
  more();
};

function post(length: number, body: string, lines = ''): string {
  return `POST /a HTTP/1.1\r\n${HOST}${lines}Content-Length: ${length}\r\n\r\n${body}`;
}

describe('a caller that resets its connection', () => {
  it.each<[string, string, Play, number]>([
    ['in its head', GET.slice(0, -2), silent, 0],
    ['before its body', post(10, ''), silent, 1],
    ['that expects to be told to go on', post(10, '', 'Expect: 100-continue\r\n'), silent, 1],
    ['in its body', post(10, 'half'), silent, 1],
    ['in a body in chunks', CHUNKS, silent, 1],
    ['in the middle of a download', GET, endless, 1],
  ])('%s frees the slot', async (_, text, play, requests) => {
    upstream.play = play;
    const caller = new RawCaller(server.port).send(text);
    expect(await holds(() => upstream.requests.length === requests)).toBe(true);
    await sleep(100);
    caller.reset();
    expect(await server.capacityWithin('stages', 1)).toBe(1);
    upstream.sockets.forEach((socket) => socket.resume());
    expect(await holds(() => upstream.sockets.size === 0)).toBe(true);
    expect(upstream.requests).toHaveLength(requests);
  });

  it.each([
    ['in a body that the upstream does not take', 100_000_000, 30_000_000],
    ['behind a body that has come', 300_000, 300_000],
  ])('%s is noticed when that stalls', async (_, length, sent) => {
    upstream.play = deaf;
    const caller = new RawCaller(server.port).send(post(length, 'x'.repeat(sent)));
    expect(await holds(() => upstream.requests.length === 1)).toBe(true);
    await sleep(500);
    expect(await server.capacity('stages')).toBe(0);
    caller.reset();
    expect(await server.capacityWithin('stages', 1, STALL_MS + 1000)).toBe(1);
    upstream.sockets.forEach((socket) => socket.resume());
    expect(await holds(() => upstream.sockets.size === 0)).toBe(true);
  });
});

describe('a caller that hangs up while it waits', () => {
  it.each([2, 600, 50_000])(
    'with a body of %i bytes never reaches the upstream',
    async (length) => {
      upstream.play = silent;
      const first = new RawCaller(server.port).send(GET);
      expect(await holds(() => upstream.requests.length === 1)).toBe(true);
      const text = post(length, 'x'.repeat(length)).replace('/a', '/second');
      const second = new RawCaller(server.port).send(text);
      await sleep(100);
      second.close();
      await sleep(100);
      const third = new RawCaller(server.port).send(
        post(length, 'y'.repeat(length)).replace('/a', '/third'),
      );
      await sleep(100);
      upstream.play = (socket, request) =>
        void setTimeout(() => socket.write(plain(`got ${request.body.length}`)), 50);
      upstream.sockets.forEach((socket) => socket.write(plain('first')));
      expect(await third.until(/got \d+$/)).toContain(`got ${length}`);
      expect(upstream.requests.map(({ head }) => head.split(' ')[1])).toEqual(['/a', '/third']);
      for (const caller of [first, third]) caller.close();
      expect(await server.capacityWithin('stages', 1)).toBe(1);
    },
  );
});

describe('a slot that is taken back while the body of one that waited comes', () => {
  it('ends the request before it is whole, on both sides', async () => {
    upstream.play = silent;
    const first = new RawCaller(server.port).send(GET);
    expect(await holds(() => upstream.requests.length === 1)).toBe(true);
    const second = new RawCaller(server.port).send(post(100, 'x'.repeat(50)));
    await sleep(100);
    upstream.sockets.forEach((socket) => socket.write(plain('first')));
    await first.until(/first$/);
    expect(await holds(() => upstream.requests[1]?.body.length === 50)).toBe(true);
    const { slots } = await server.admin('GET', '/pools/stages/slots');
    expect(slots).toHaveLength(1);
    const [{ ref }] = slots as [{ ref: string }];
    await server.admin('DELETE', `/pools/stages/slots/${ref}`);
    expect(await holds(() => upstream.sockets.size === 0)).toBe(true);
    second.send('x'.repeat(50));
    expect(await second.until(/"}$/)).toMatch(/^HTTP\/1\.1 504 [^]*its slot was taken back/);
    expect(upstream.requests.map(({ body }) => body.length)).toEqual([0, 50]);
    expect(await server.capacity('stages')).toBe(1);
    for (const caller of [first, second]) caller.close();
  });
});

describe('an upstream that resets its connection', () => {
  it.each<[string, string, Play]>([
    ['in the middle of an upload', post(10, 'half'), (socket) => void socket.resetAndDestroy()],
    ['in the middle of a large upload', post(50_000_000, 'x'.repeat(20_000_000)), (socket) => {
      setTimeout(() => socket.resetAndDestroy(), 100);
    }],
    ['after an interim answer', GET, (socket) => {
      socket.write('HTTP/1.1 103 Early\r\nlink: x\r\n\r\n', () => socket.resetAndDestroy());
    }],
    ['in the middle of its head', GET, (socket) => {
      socket.write('HTTP/1.1 200 OK\r\nx-a: ', () => socket.resetAndDestroy());
    }],
  ])('%s is told as 502, and frees the slot', async (_, text, play) => {
    upstream.play = play;
    const caller = new RawCaller(server.port).send(text);
    expect(await caller.until(/"}$/)).toMatch(
      /^(HTTP\/1\.1 100[^]*)?HTTP\/1\.1 502 [^]*x-nthpool-error: upstream_unreachable/,
    );
    caller.close();
    expect(await server.capacityWithin('stages', 1)).toBe(1);
    expect(upstream.requests).toHaveLength(1);
  });

  it('as it accepts is told as 502, and is asked once', async () => {
    let accepted = 0;
    const rude = createServer((socket) => {
      accepted++;
      socket.on('error', () => {});
      socket.resetAndDestroy();
    });
    await new Promise<void>((done) => rude.listen(0, '127.0.0.1', done));
    await server.pool('rude', (rude.address() as AddressInfo).port, { limit: 1 });
    const answer = await server.call({ pool: 'rude', method: 'PUT', body: 'x' });
    expect([answer.status, answer.headers['x-nthpool-error']]).toEqual([
      502,
      'upstream_unreachable',
    ]);
    expect(await server.capacity('rude')).toBe(1);
    expect(accepted).toBe(1);
    rude.close();
  });

  it('once its answer is whole has done no harm', async () => {
    upstream.play = (socket) => void socket.write(plain('whole'), () => socket.resetAndDestroy());
    const statuses = new Set<number>();
    for (let round = 1; round <= 20; round++) {
      const answer = await server.call({ pool: 'stages' });
      statuses.add(answer.status);
      if (answer.status === 200) expect(answer.body).toBe('whole');
      expect(upstream.requests).toHaveLength(round);
    }
    // A reset may overtake the answer, but seldom does.
    expect([...statuses].filter((status) => status !== 502)).toEqual([200]);
    expect(await server.capacity('stages')).toBe(1);
  });
});
