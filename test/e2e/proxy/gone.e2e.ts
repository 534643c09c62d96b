/**
 * A caller that goes away is noticed within a second, whatever it has sent by then, while it waits
 * and while it is answered: its place or slot is free, and the upstream hears no more of it.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { holds, plain, RawCaller, sleep } from './raw.ts';
import { stage } from './stage.ts';

const { server, upstream } = stage();
const HOST = 'Host: gone.localhost\r\n';
const GET = `GET /gone HTTP/1.1\r\n${HOST}\r\n`;

beforeAll(() => server.pool('gone', upstream.port, { limit: 1 }));

function request(method: string, length: number, sent = length): string {
  return `${method} /gone HTTP/1.1\r\n${HOST}Content-Length: ${length}\r\n\r\n${'x'.repeat(sent)}`;
}

const sent: readonly (readonly [string, string])[] = [
  ['no body', GET],
  ['a body of 600 bytes', request('POST', 600)],
  ['a body of 50 000 bytes', request('POST', 50_000)],
  ['a body of a million bytes', request('POST', 1_000_000)],
  ['half of a body', request('POST', 20_000, 10_000)],
  ['a body with GET', request('GET', 9_000)],
  [
    'a body in chunks',
    `PUT /gone HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n`,
  ],
  ['a second request behind it', GET + GET.replace('/gone', '/next')],
  ['a second request behind its body', request('POST', 600) + GET.replace('/gone', '/next')],
];
const leaves: readonly (readonly [string, (caller: RawCaller) => void])[] = [
  ['closed', (caller) => caller.close()],
  ['reset', (caller) => caller.reset()],
  ['half closed', (caller) => void caller.socket.end()],
];
const ways = sent.flatMap(([what, text]) =>
  leaves.map(([how, leave]) => [what, how, text, leave] as const)
);

async function queuedWithin(wanted: number, withinMs = 1000): Promise<number> {
  const until = performance.now() + withinMs;
  for (;;) {
    const { queued } = await server.admin('GET', '/pools/gone/status');
    if (queued === wanted || performance.now() > until) return Number(queued);
    await sleep(10);
  }
}

describe('a caller with', () => {
  it.each(ways)('%s whose connection is %s while it waits', async (_, __, text, leave) => {
    upstream.play = () => {};
    const first = new RawCaller(server.port).send(GET.replace('/gone', '/first'));
    expect(await holds(() => upstream.requests.length === 1)).toBe(true);
    const caller = new RawCaller(server.port).send(text);
    expect(await queuedWithin(1)).toBe(1);
    await sleep(50);
    leave(caller);
    expect(await queuedWithin(0)).toBe(0);
    upstream.sockets.forEach((socket) => socket.write(plain('first')));
    await first.until(/first$/);
    expect(await server.capacityWithin('gone', 1)).toBe(1);
    expect(upstream.requests).toHaveLength(1);
    expect(caller.received).toBe('');
    for (const each of [first, caller]) each.close();
  });

  it.each(ways)('%s whose connection is %s once it was forwarded', async (_, __, text, leave) => {
    upstream.play = () => {};
    const caller = new RawCaller(server.port).send(text);
    expect(await holds(() => upstream.requests.length === 1)).toBe(true);
    await sleep(50);
    expect(await server.capacity('gone')).toBe(0);
    leave(caller);
    expect(await server.capacityWithin('gone', 1)).toBe(1);
    expect(await holds(() => upstream.sockets.size === 0)).toBe(true);
    expect(upstream.requests).toHaveLength(1);
    expect(caller.received).toBe('');
    caller.close();
  });

  it.each(ways)('%s whose connection is %s while it is answered', async (_, __, text, leave) => {
    upstream.play = (socket) =>
      void socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n');
    const caller = new RawCaller(server.port).send(text);
    await caller.until(/hi\r\n$/);
    expect(await server.capacity('gone')).toBe(0);
    leave(caller);
    expect(await server.capacityWithin('gone', 1)).toBe(1);
    expect(await holds(() => upstream.sockets.size === 0)).toBe(true);
    expect(upstream.requests).toHaveLength(1);
    caller.close();
  });
});
