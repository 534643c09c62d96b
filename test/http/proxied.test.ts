/** A proxied request that is not answered to its end: what is sent, and what its row tells. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Forwarding } from '../../src/http/forwarding.ts';
import { Connection } from '../../src/http1/connection.ts';
import { incoming } from '../support/http.ts';
import { MemoryLine } from '../support/lines.ts';
import { peerOf } from '../support/server.ts';
import { Door, fixed, pass } from './door.ts';

const ASK = { method: 'GET', host: 'p.localhost', target: '/a' };
const UPGRADE = { ...ASK, headers: { connection: 'Upgrade', upgrade: 'websocket' } };
const SWITCHED = 'HTTP/1.1 101 X\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n';
const BEGUN = 'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc';
const SWEEP_MS = 100;

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

/** A door whose pool `p` has so many slots; its upstream says what the test has its lines give. */
async function poolOf(limit: number, upstream: object = {}) {
  const lines: MemoryLine[] = [];
  const dial = () => {
    const line = new MemoryLine();
    lines.push(line);
    return Promise.resolve(line);
  };
  const door = await Door.open({
    change: ({ scheduler }) => ({
      forwarding: new Forwarding({ dial, nowMs: () => scheduler.clock.nowMs() }),
    }),
  });
  const more = { access: { key: { required: false } } };
  await door.pool('p', fixed(limit, { ...more, upstream: { url: 'http://up.test', ...upstream } }));
  const { scheduler } = door.server;
  return {
    door,
    lines,
    call: (signal?: AbortSignal) =>
      door.send('GET', '/a', { host: ASK.host, ...signal && { signal } }),
    /** Takes all slots back that are held. */
    takeBack: async () => {
      const { json } = await door.admin('GET', '/pools/p/slots');
      for (const { ref } of json['slots'] as { ref: string }[]) {
        await door.admin('DELETE', `/pools/p/slots/${ref}`);
      }
    },
    /** Gives the slot back that was granted first, in whatever moment it is. */
    release: () => {
      const pool = scheduler.pools.get('p')!;
      const [lease] = pool.leases.values();
      scheduler.release(pool, lease!.slotId, { kind: 'unknown' });
    },
    row: async () => {
      await pass(door, 2000);
      const { json } = await door.admin('GET', '/pools/p/log');
      return (json['entries'] as object[])[0];
    },
  };
}

describe('a slot that is taken back', () => {
  it('before the answer is told and logged as such, not as a caller that went away', async () => {
    const { door, lines, call, takeBack, row } = await poolOf(1);
    const answer = call();
    await pass(door, 0);
    await takeBack();
    const { status, json } = await door.settled(answer);
    expect([status, json['error']]).toEqual([504, 'upstream_timeout']);
    expect(json['message']).toBe('The request was ended: its slot was taken back.');
    expect(lines[0]?.isClosed).toBe(true);
    expect(await row()).toMatchObject({
      outcome: 'upstream_timeout',
      status: 504,
      upstreamStatus: null,
      reason: 'taken_back',
    });
  });

  it('within the answer is logged with the status that was sent', async () => {
    const { door, lines, call, takeBack, row } = await poolOf(1);
    const answer = call();
    answer.catch(() => {});
    await pass(door, 0);
    lines[0]?.gives(BEGUN);
    await pass(door, 0);
    await takeBack();
    await expect(door.settled(answer)).rejects.toThrow('its slot was taken back');
    expect(await row()).toMatchObject({
      outcome: 'upstream_timeout',
      status: 200,
      upstreamStatus: 200,
      reason: 'taken_back',
    });
  });

  it('in the very moment of its grant is of no request to the upstream', async () => {
    const { door, lines, call, release, row } = await poolOf(1);
    const answers = [call(), call()];
    await pass(door, 0);
    release();
    release();
    const { status, json } = await door.settled(answers[1]!);
    expect([status, json['error']]).toEqual([504, 'upstream_timeout']);
    expect(lines).toHaveLength(1);
    expect(await row()).toMatchObject({ status: 504, reason: 'taken_back' });
  });
});

it('a caller that goes away is logged as such', async () => {
  const { door, lines, call, row } = await poolOf(1);
  const caller = new AbortController();
  const answer = call(caller.signal);
  await pass(door, 0);
  caller.abort();
  await door.settled(answer);
  expect(lines[0]?.isClosed).toBe(true);
  const told = { outcome: 'client_gone', status: null, upstreamStatus: null, reason: null };
  expect(await row()).toMatchObject(told);
});

describe('an upgrade', () => {
  it('to another protocol than asked is logged with the status that its caller got', async () => {
    const { door, lines, row } = await poolOf(1);
    const answered = door.app(incoming(UPGRADE), peerOf());
    await pass(door, 0);
    lines[0]?.gives(SWITCHED.replace('websocket', 'other'));
    expect((await answered).status).toBe(502);
    expect(lines[0]?.isClosed).toBe(true);
    const told = { outcome: 'upstream_unreachable', status: 502, upstreamStatus: null };
    expect(await row()).toMatchObject(told);
  });

  it.each([['stalls', 'upstream_timeout'], ['is closed', 'granted']])(
    'that %s is logged as such: %s',
    async (how, outcome) => {
      const { door, lines, row } = await poolOf(1, { stallTimeoutMs: 3000 });
      const answered = door.app(incoming(UPGRADE), peerOf());
      await pass(door, 0);
      lines[0]?.gives(SWITCHED);
      const { tunnel } = await answered;
      const caller = new MemoryLine();
      void tunnel?.(new Connection(caller), SWITCHED);
      await pass(door, 0);
      if (how === 'is closed') {
        caller.ends();
        lines[0]?.ends();
      }
      for (let sweeps = 0; sweeps < 2; sweeps++) {
        await pass(door, 3000);
        vi.advanceTimersByTime(SWEEP_MS);
        await pass(door, 0);
      }
      expect([caller.isClosed, lines[0]?.isClosed]).toEqual([true, true]);
      expect(await row()).toMatchObject({ outcome, status: 101, upstreamStatus: 101 });
    },
  );

  it('ends when requestTimeoutMs has passed since it was asked for', async () => {
    const limits = { requestTimeoutMs: 3000, stallTimeoutMs: 60_000 };
    const { door, lines, row } = await poolOf(1, limits);
    const answered = door.app(incoming(UPGRADE), peerOf());
    await pass(door, 2500);
    lines[0]?.gives(SWITCHED);
    const { tunnel } = await answered;
    const caller = new MemoryLine();
    const isOver = vi.fn();
    void tunnel?.(new Connection(caller), SWITCHED).then(isOver);
    for (const [ms, isClosed] of [[499, false], [1, true]] as const) {
      await pass(door, ms);
      vi.advanceTimersByTime(SWEEP_MS);
      await pass(door, 0);
      expect([caller.isClosed, lines[0]?.isClosed]).toEqual([isClosed, isClosed]);
    }
    expect([caller.sent, isOver.mock.calls.length]).toEqual([SWITCHED, 1]);
    const told = { outcome: 'upstream_timeout', status: 101, upstreamStatus: 101 };
    expect(await row()).toMatchObject(told);
  });
});

it('a request whose head is too large is refused at once, and not queued', async () => {
  const { door, lines, row } = await poolOf(1);
  const held = door.send('GET', '/a', { host: ASK.host });
  await pass(door, 0);
  const headers = { 'x-large': 'x'.repeat(16 * 1024) };
  const { status, json } = await door.settled(
    door.send('GET', '/a', { host: ASK.host, headers }),
  );
  expect([status, json['error']]).toEqual([431, 'head_too_large']);
  expect(await row()).toMatchObject({ outcome: 'head_too_large', status: 431, queuedMs: 0 });
  lines[0]?.gives('HTTP/1.1 204 No Content\r\n\r\n');
  expect((await door.settled(held)).status).toBe(204);
});
