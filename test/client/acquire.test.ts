/** Acquiring: budgets, back-off, restarts, and what becomes of a try without an answer. */
import { describe, expect, it } from 'vitest';
import { BadAnswer, connect, Refused, SlotLost, Unreachable } from '../../src/client/client.ts';
import { json } from './fake_server.ts';
import { make } from './stage.ts';

const full = (retryAfterMs: number) =>
  json(429, { error: 'too_many_requests', message: 'Full.', reason: 'full', retryAfterMs }, {
    'retry-after': '9',
    'x-nthpool-queue-depth': '4',
  });

function caught(call: () => unknown): unknown {
  try {
    return call();
  } catch (error) {
    return error;
  }
}

describe('Pool.acquire', () => {
  it('sends the key, the ask and a fresh Idempotency-Key', async () => {
    const { pool, acquires } = make();
    await pool.acquire({ waitMs: 5_000, slots: 2, tokens: 9, holder: 'worker' });
    await pool.acquire();
    const [first, second] = acquires();
    expect(first?.body).toEqual({ waitMs: 5_000, slots: 2, tokens: 9, holder: 'worker' });
    expect(second?.body).toEqual({});
    expect(first?.headers.get('x-nthpool-key')).toBe('k');
    const keys = acquires().map(({ headers }) => headers.get('idempotency-key'));
    expect(new Set(keys).size).toBe(2);
  });

  it('never shows a key that no header can carry, nor asks again with it', async () => {
    const { server } = make();
    const key = 'nb_live_a\nnb_live_b';
    const pool = connect({ url: 'http://h', pool: 'p', key, fetch: server.fetch });
    const error = await pool.acquire({ waitMs: 60_000 }).catch((reason) => reason);
    expect(error).toBeInstanceOf(TypeError);
    expect(String(error)).not.toContain('nb_live');
    expect(server.seen).toEqual([]);
  });

  it.each([
    'http://u:hidden@h',
    'http://hidden@h/',
    'hidden',
    'ftp://h/hidden',
    'http://h/?hidden',
  ])(
    'takes no url %s, and does not show it',
    (url) => {
      const error = caught(() => connect({ url, pool: 'p' }));
      expect(error).toBeInstanceOf(TypeError);
      expect(String(error)).not.toContain('hidden');
    },
  );

  it.each([NaN, '5s' as unknown as number])(
    'takes no wait of %s, and sends nothing',
    async (waitMs) => {
      const { server, pool } = make();
      const error = await pool.acquire({ waitMs }).catch((reason) => reason);
      expect(error).toBeInstanceOf(TypeError);
      expect(server.seen).toEqual([]);
    },
  );

  it.each([{ slots: NaN }, { slots: Infinity }, { tokens: NaN }])(
    'takes no %o for a wish that was left out, and sends nothing',
    async (options) => {
      const { server, pool } = make();
      await expect(pool.acquire(options)).rejects.toThrow(TypeError);
      expect(server.seen).toEqual([]);
    },
  );

  it('waits for a key no longer than for an answer, nor beyond its signal', async () => {
    const { clock, server } = make();
    const options = { url: 'http://h', pool: 'p', fetch: server.fetch, clock, random: () => 0 };
    const pool = connect({ ...options, key: () => new Promise<string>(() => {}) });
    const gone = new AbortController();
    const given = pool.acquire({ waitMs: 60_000, signal: gone.signal }).catch((reason) => reason);
    gone.abort('enough');
    expect(await given).toBe('enough');
    const late = pool.acquire().catch((reason) => reason);
    await clock.pass(60_000);
    expect(await late).toBeInstanceOf(Unreachable);
    expect(server.seen).toEqual([]);
  });

  it('sends nothing else, on the real clock too', async () => {
    const { server } = make();
    const pool = connect({ url: 'http://h', pool: 'p', fetch: server.fetch });
    const slot = await pool.acquire({ waitMs: 100 });
    await slot.release();
    expect(server.seen.map(({ verb }) => verb)).toEqual(['acquire', 'release']);
  });

  it('fails at once where no wait was asked for', async () => {
    const { server, pool, acquires } = make();
    server.refusals.push(full(700));
    const error = await pool.acquire().catch((reason) => reason);
    expect(error).toBeInstanceOf(Refused);
    expect(error).toMatchObject({
      code: 'too_many_requests',
      status: 429,
      reason: 'full',
      retryAfterMs: 700,
      queueDepth: 4,
      message: 'Full.',
    });
    expect(acquires()).toHaveLength(1);
  });

  it('waits as long as the server says, and asks again with what is left', async () => {
    const { clock, server, pool, acquires } = make();
    server.refusals.push(full(700));
    const acquired = pool.acquire({ waitMs: 5_000 });
    await clock.pass(699);
    expect(acquires()).toHaveLength(1);
    await clock.pass(1);
    await acquired;
    expect(acquires().map(({ body }) => body?.['waitMs'])).toEqual([5_000, 4_300]);
  });

  it('does not wait for what lies beyond its budget', async () => {
    const { server, pool, acquires } = make();
    server.refusals.push(full(6_000));
    await expect(pool.acquire({ waitMs: 5_000 })).rejects.toBeInstanceOf(Refused);
    expect(acquires()).toHaveLength(1);
  });

  it('joins the line again when the pool lets nobody wait so long', async () => {
    const { clock, server, pool, acquires } = make();
    const over = () => json(504, { error: 'queue_timeout', message: 'Over.' });
    server.refusals.push(over(), over());
    server.queuedMs = 50;
    server.way = () => ({ thereMs: 0, backMs: 500 });
    const acquired = pool.acquire({ waitMs: 5_000 });
    await clock.pass(2_000);
    expect(acquires()).toHaveLength(3);
    // Two tries with a pause after each, and the queue's own count of the third.
    expect((await acquired).queuedMs).toBe(2 * (500 + 100) + 50);
  });

  it('asks again after a pause when a grant came too late, and says so in the end', async () => {
    const { clock, server, pool, acquires } = make();
    server.requestTimeoutMs = 1_000;
    server.way = (verb) => ({ thereMs: 0, backMs: verb === 'acquire' ? 950 : 0 });
    const once = pool.acquire().catch((error) => error);
    await clock.pass(950);
    expect(await once).toBeInstanceOf(SlotLost);
    expect(await once).toMatchObject({ cause: 'late' });
    const acquired = pool.acquire({ waitMs: 5_000 }).catch((error) => error);
    await clock.pass(20_000);
    expect(await acquired).toMatchObject({ cause: 'late' });
    const [, first, ...rest] = acquires().map(({ atMs }) => atMs);
    expect(rest.map((atMs) => atMs - (first ?? 0))).toEqual([1_050, 2_200, 3_550]);
    // No work was done: that teaches the server nothing.
    const released = { state: 'released', report: { status: 500 } };
    expect(server.leases).toMatchObject([released, released, released, released, released]);
  });

  it('survives a restart of the server', async () => {
    const { clock, server, pool, acquires } = make();
    server.isDown = true;
    const acquired = pool.acquire({ waitMs: 20_000 });
    await clock.pass(7_000);
    server.refusals.push(json(503, { error: 'storage_unavailable' }, { 'retry-after': '1' }));
    server.isDown = false;
    await clock.pass(6_000);
    const slot = await acquired;
    expect(slot.signal.aborted).toBe(false);
    expect(acquires().at(-1)?.body?.['waitMs']).toBeLessThan(13_000);
  });

  it('repeats a try without an answer under its key, and gets the same slot', async () => {
    const { clock, server, pool, acquires } = make();
    const ways = [{ thereMs: 0, backMs: Infinity }];
    server.way = () => ways.shift() ?? { thereMs: 0, backMs: 0 };
    const acquired = pool.acquire();
    await clock.pass(10_200);
    const [first, second] = acquires();
    // The lease of the first try has lapsed by then: its answer took longer than the term.
    expect(second?.headers.get('idempotency-key')).toBe(first?.headers.get('idempotency-key'));
    await acquired;
    expect(server.leases.map(({ state }) => state)).toEqual(['lapsed', 'held']);
  });

  it('holds one slot alone when only the answer was lost', async () => {
    const { clock, server, pool } = make();
    let calls = 0;
    const broken = (async (input: string, init: RequestInit) => {
      const answer = await server.fetch(input, init);
      if (calls++ === 0) throw new TypeError('connection reset');
      return answer;
    }) as typeof fetch;
    void pool;
    const other = connect({ url: 'http://h', pool: 'p', fetch: broken, clock, random: () => 0 });
    const acquired = other.acquire();
    await clock.pass(500);
    const slot = await acquired;
    expect(server.leases).toHaveLength(1);
    expect(slot.remainingMs).toBeGreaterThan(2_500);
    await clock.pass(20_000);
    expect(slot.signal.aborted).toBe(false);
  });

  it('tells that nobody answers', async () => {
    const { clock, server, pool } = make();
    server.isDown = true;
    const acquired = pool.acquire().catch((error) => error);
    await clock.pass(1_000);
    expect(await acquired).toBeInstanceOf(Unreachable);
    expect(await acquired).toMatchObject({ code: 'unreachable' });
  });

  it.each([
    ['a page of another program', () => new Response('<html>', { status: 200 })],
    ['a redirect', () => new Response(null, { status: 302, headers: { location: '/x' } })],
    ['a grant without a slot', () => json(200, { fence: 1 })],
  ])('does not take %s for an answer', async (_, answer) => {
    const { server, pool } = make();
    server.refusals.push(answer());
    await expect(pool.acquire({ waitMs: 5_000 })).rejects.toBeInstanceOf(BadAnswer);
  });

  it('tells where the wait stands in the queue, and asks no more when it is over', async () => {
    const { clock, server, pool, acquires } = make();
    server.way = (verb) => ({ thereMs: 0, backMs: verb === 'acquire' ? 3_000 : 0 });
    server.place = 4;
    const places: number[] = [];
    const ask = { waitMs: 20_000, slots: 2, onPlace: (place: number) => places.push(place) };
    // The fake server grants at once, and is slow to say so.
    server.termMs = 60_000;
    const acquired = pool.acquire(ask);
    server.way = () => ({ thereMs: 0, backMs: 0 });
    await clock.pass(2_500);
    expect(places).toEqual([4, 4]);
    await clock.pass(20_000);
    await (await acquired).release();
    expect(places).toEqual([4, 4]);
    const keys = acquires().map(({ headers }) => headers.get('idempotency-key'));
    expect(new Set(keys).size).toBe(1);
    expect(acquires().map(({ body }) => body?.['slots'])).toEqual([2, 2, 2]);
  });

  it('gives back a slot that the wait itself did not bring', async () => {
    const { clock, server, pool } = make();
    server.way = () => ({ thereMs: 0, backMs: Infinity });
    const controller = new AbortController();
    const ask = { waitMs: 20_000, onPlace: () => {}, signal: controller.signal };
    const acquired = pool.acquire(ask).catch(() => null);
    server.way = () => ({ thereMs: 0, backMs: 0 });
    await clock.pass(300);
    controller.abort(new Error('enough'));
    await acquired;
    await clock.pass(100);
    expect(server.leases.map(({ state }) => state)).toEqual(['released']);
  });

  it('stops waiting when its signal says so', async () => {
    const { clock, server, pool, acquires } = make();
    server.refusals.push(full(2_000));
    const controller = new AbortController();
    const acquired = pool.acquire({ waitMs: 5_000, signal: controller.signal });
    await clock.pass(100);
    controller.abort(new Error('enough'));
    await expect(acquired).rejects.toThrow('enough');
    await clock.pass(10_000);
    expect(acquires()).toHaveLength(1);
  });
});
