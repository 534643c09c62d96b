import { describe, expect, it } from 'vitest';
import { Forwarding } from '../../src/http/forwarding.ts';
import { respond } from '../support/http.ts';
import { MemoryLine } from '../support/lines.ts';
import { peerOf } from '../support/server.ts';
import type { Answer } from './door.ts';
import { Door, pass } from './door.ts';

const NO_QUEUE = { 'x-nthpool-no-queue': '1' };
const CLOSE = 'connection: close\r\n';
const OK = `HTTP/1.1 200 OK\r\n${CLOSE}content-length: 2\r\n\r\nok`;

/** A whole answer without a body. */
function refusal(status: number, lines = ''): string {
  return `HTTP/1.1 ${status} No\r\n${CLOSE}${lines}content-length: 0\r\n\r\n`;
}

/** A door whose pool `p` has so many credentials (`k0`, `k1`, …) in `x-key`. */
async function poolWith(count: number, more: object = {}) {
  const played: string[] = [];
  const lines: MemoryLine[] = [];
  const dial = () => {
    const line = new MemoryLine().gives(played.shift() ?? OK);
    lines.push(line);
    return Promise.resolve(line);
  };
  const door = await Door.open({
    change: ({ scheduler }) => ({
      forwarding: new Forwarding({ dial, nowMs: () => scheduler.clock.nowMs() }),
    }),
  });
  const credentials = Array.from({ length: count }, (_, at) => ({
    name: `k${at}`,
    header: 'x-key',
    value: `value-${at}`,
  }));
  await door.pool('p', {
    access: { key: { required: false } },
    upstream: { url: 'http://up.test', credentials },
    ...more,
  });
  const ask = { method: 'GET', host: 'p.localhost', target: '/' };
  return {
    door,
    lines,
    /** The credentials that the upstream has seen, in their order. */
    seen: () => lines.map(({ sent }) => /x-key: value-(\d)\r/.exec(sent)?.[1]).join(''),
    /** A fail-fast call, to which the upstream answers so if it is asked. */
    call: (text: string = OK): Promise<Answer> => {
      played.splice(0, Infinity, text);
      return door.call('GET', '/', { host: ask.host, headers: NO_QUEUE });
    },
    /** A call whose answer is not read. */
    begin: (text: string): Promise<Response> => {
      played.splice(0, Infinity, text);
      return door.settled(respond(door.app, { ...ask, headers: NO_QUEUE }, peerOf()));
    },
    /** A call that may wait, and is not waited for. */
    wait: (text: string): Promise<Answer> => {
      played.splice(0, Infinity, text);
      return door.send('GET', '/', { host: ask.host });
    },
    cooling: async () => {
      const { json } = await door.admin('GET', '/pools/p/status');
      return (json['credentials'] as { coolingFor: number | null }[]).map((one) => one.coolingFor);
    },
  };
}

/** The hint of a refusal that must be for want of credentials, in ms. */
function toldMs({ status, json }: Answer): number {
  expect([status, json['reason']]).toEqual([429, 'credentials']);
  return Number(json['retryAfterMs']);
}

describe('a credential that was refused', () => {
  it.each([401, 403, 429])('with %i is put aside though the body never ends', async (status) => {
    const { begin, call, cooling, door } = await poolWith(1);
    const answer = await begin(`HTTP/1.1 ${status} No\r\ncontent-length: 100\r\n\r\nabc`);
    expect(answer.status).toBe(status);
    expect(await cooling()).toEqual([status]);
    expect((await call()).json['reason']).toBe('credentials');
    await answer.body?.cancel();
    await pass(door, 0);
    expect(await cooling()).toEqual([status]);
  });

  it('is put aside for longer where the end of the body says so', async () => {
    const { begin, call, lines } = await poolWith(1);
    const json = '{"error":{"details":[{"retryDelay":"40s"}]}}';
    const answer = await begin(
      'HTTP/1.1 429 No\r\ncontent-type: application/json\r\n' +
        `content-length: ${json.length}\r\n\r\n{`,
    );
    expect(toldMs(await call())).toBe(1000);
    lines[0]?.gives(json.slice(1));
    await answer.text();
    expect(toldMs(await call())).toBeGreaterThanOrEqual(40_000);
  });

  it('without a hint is put aside until the window that is spent is reset', async () => {
    const { call, cooling, door } = await poolWith(1);
    await call(refusal(429, 'x-ratelimit-remaining: 0\r\nx-ratelimit-reset: 25\r\n'));
    const waitMs = toldMs(await call());
    expect(waitMs).toBeGreaterThanOrEqual(25_000);
    expect(waitMs).toBeLessThan(26_000);
    await pass(door, 24_999);
    expect(await cooling()).toEqual([429]);
  });
});

describe('of several credentials', () => {
  it('one that was throttled is put aside alone, and holds no call with another', async () => {
    const { call, seen, cooling, door } = await poolWith(2);
    const lines = 'retry-after: 20\r\nx-ratelimit-limit: 9\r\nx-ratelimit-remaining: 0\r\n' +
      'x-ratelimit-reset: 30\r\n';
    expect((await call(refusal(429, lines))).status).toBe(429);
    for (let at = 0; at < 3; at++) expect((await call()).status).toBe(200);
    expect([seen(), await cooling()]).toEqual(['0111', [429, null]]);
    await pass(door, 2000);
    const { json } = await door.admin('GET', '/pools/p/log');
    expect((json['entries'] as object[]).at(-1)).toMatchObject({ upstreamStatus: 429 });
  });

  it('the first that is free again is the one that callers are told of, and get', async () => {
    const { call, seen, door } = await poolWith(3);
    await call(refusal(429, 'retry-after: 40\r\n'));
    await call(refusal(429, 'retry-after: 10\r\n'));
    await call(refusal(429, 'retry-after: 20\r\n'));
    expect(toldMs(await call())).toBe(10_000);
    await pass(door, 10_000);
    expect((await call()).status).toBe(200);
    expect(seen()).toBe('0121');
  });

  it.each([0, 1])('as before where there are %i: a hint holds the pool', async (count) => {
    const { call, door } = await poolWith(count);
    await call(refusal(429, 'retry-after: 20\r\n'));
    const { json } = await door.admin('GET', '/pools/p/status');
    expect(json['gate']).toMatchObject({ reason: 'paused' });
  });
});

describe('a credential that the upstream answers with', () => {
  const SECRET = 'sk-0123456789abcd';
  const [USER, SHORT] = [btoa(`user:${SECRET}`), 'short-secret'];

  it.each([
    ['authorization', `Bearer ${SECRET}`, `Bearer ${SECRET}`],
    ['x-key', SECRET, `key=${SECRET}; path=/`],
    ['authorization', `Basic ${USER}`, `user:${SECRET}`],
    ['authorization', `Basic ${USER}`, `Basic ${USER}`],
  ])(
    'in %s (%s) leaves with no header, and the rest is as it came',
    async (header, value, told) => {
      const credentials = [{ name: 'a', header, value }];
      const { call } = await poolWith(0, { upstream: { url: 'http://up.test', credentials } });
      const { headers, text } = await call(
        `HTTP/1.1 200 OK\r\nx-seen: ${told}\r\nset-cookie: ${told}\r\nx-other: Bearer sk-\r\n` +
          `content-length: ${told.length}\r\n\r\n${told}`,
      );
      expect([headers.get('x-seen'), headers.get('set-cookie')]).toEqual([null, null]);
      expect([headers.get('x-other'), text]).toEqual(['Bearer sk-', told]);
    },
  );

  it('is too short to be told from chance below 16 characters', async () => {
    const credentials = [{ name: 'a', header: 'x-key', value: SHORT }];
    const { call } = await poolWith(0, { upstream: { url: 'http://up.test', credentials } });
    const { headers } = await call(`HTTP/1.1 204 No\r\nx-seen: ${SHORT}\r\n\r\n`);
    expect(headers.get('x-seen')).toBe(SHORT);
  });
});

describe('a refusal for want of credentials', () => {
  it('after a wait in the queue tells how long it was', async () => {
    const { wait, lines, door } = await poolWith(1, { concurrency: { limit: 1, mode: 'fixed' } });
    const first = wait('');
    await pass(door, 0);
    const second = wait(OK);
    await pass(door, 700);
    lines[0]?.gives(refusal(401));
    expect((await door.settled(first)).status).toBe(401);
    const refused = await door.settled(second);
    expect(toldMs(refused)).toBe(60_000);
    expect(refused.headers.get('x-nthpool-queued-ms')).toBe('700');
    await pass(door, 2000);
    const { json } = await door.admin('GET', '/pools/p/log');
    expect(json['entries']).toContainEqual(
      expect.objectContaining({ reason: 'credentials', queuedMs: 700 }),
    );
  });

  it('names the statuses that put them aside, and no credential', async () => {
    const { call } = await poolWith(2);
    await call(refusal(401));
    await call(refusal(429, 'retry-after: 20\r\n'));
    const { json, text } = await call();
    expect(json['message']).toBe(
      'The upstream has refused every credential of this pool lately, with 401 and 429.',
    );
    expect(text).not.toMatch(/k[01]|value-/);
  });

  it('tells the later of their time and that of the gates', async () => {
    const { call, door } = await poolWith(1, { rate: { rpm: 1 } });
    await call(refusal(429, 'retry-after: 3\r\n'));
    expect(toldMs(await call())).toBe(60_000);
    await door.admin('POST', '/pools/p/pause', { untilMs: door.clock.nowMs() + 300_000 });
    expect(toldMs(await call())).toBe(300_000);
    await door.admin('POST', '/pools/p/pause', {});
    expect(toldMs(await call())).toBe(3000);
  });
});
