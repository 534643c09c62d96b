/** The lock API as its caller sees it: its answers, and refusals with what helps to try again. */
import { beforeEach, describe, expect, it } from 'vitest';
import { T0 } from '../support/pools.ts';
import { TestStore } from '../support/test_store.ts';
import { type Answer, type Caller, Door, fixed, pass, soon } from './door.ts';

const LEASE = { termMs: 30_000, renewIntervalMs: 10_000, requestTimeoutMs: 60_000 };

let door: Door;
let caller: Caller;

beforeEach(async () => {
  door = await Door.open();
  caller = await door.pool('a', fixed(2, { queue: { maxDepth: 2, timeoutMs: 5_000 } }));
});

/** The headers of the pool on an answer, as numbers. */
function gauge({ headers }: Answer): Record<string, number> {
  const read = (name: string) => Number(headers.get(`x-nthpool-${name}`));
  return {
    remaining: read('remaining-slots'),
    limit: read('effective-limit'),
    queuedMs: read('queued-ms'),
    depth: read('queue-depth'),
  };
}

describe('acquire', () => {
  it('answers with the lease, whose times are epoch ms, and with the headers', async () => {
    const answer = await caller.acquire();
    expect(answer.status).toBe(200);
    expect(answer.json).toEqual({
      slotId: expect.stringMatching(/^[\w-]{22,}$/),
      leaseDeadline: T0 + 30_000,
      requestDeadline: T0 + 60_000,
      termMs: 30_000,
      renewIntervalMs: 10_000,
      fence: expect.any(Number),
    });
    expect(gauge(answer)).toEqual({ remaining: 1, limit: 2, queuedMs: 0, depth: 0 });
    expect(answer.headers.get('content-type')).toBe('application/json');
    expect(answer.headers.get('x-nthpool-rpm-limit')).toBe(null);
  });

  it('caps a lease at the request deadline', async () => {
    const short = await door.pool('short', { lease: { ...LEASE, requestTimeoutMs: 20_000 } });
    const { json } = await short.acquire();
    expect(json['leaseDeadline']).toBe(T0 + 20_000);
    expect(json['requestDeadline']).toBe(T0 + 20_000);
  });

  it('gives each grant another slotId and a higher fence', async () => {
    const first = (await caller.acquire()).json;
    const second = (await caller.acquire()).json;
    expect(second['slotId']).not.toBe(first['slotId']);
    expect(second['fence']).toBeGreaterThan(Number(first['fence']));
    expect(Number.isSafeInteger(second['fence'])).toBe(true);
  });

  it('tells the rate where one is set, and what is left of it', async () => {
    const rated = await door.pool('rated', fixed(9, { rate: { rpm: 3, learn: false } }));
    const answer = await rated.acquire();
    expect(answer.headers.get('x-nthpool-rpm-limit')).toBe('3');
    expect(answer.headers.get('x-nthpool-rpm-remaining')).toBe('2');
    await rated.acquire();
    await rated.acquire();
    const refused = await rated.acquire();
    expect(refused.json).toMatchObject({ error: 'too_many_requests', reason: 'rate' });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(rated.inUse).toBe(3);
  });

  it('tells a rate of a few starts an hour as one a minute, not as none', async () => {
    const reading = { limit: 10, remaining: 9, resetMs: 3_600_000, windowMs: 3_600_000 };
    await caller.release(await caller.hold(), { status: 200, rate: reading });
    const answer = await caller.acquire();
    expect(answer.headers.get('x-nthpool-rpm-limit')).toBe('1');
    const told = (await door.admin('GET', '/pools/a/status')).json;
    expect(told).toMatchObject({ rpm: 0.167, about: 'rate' });
  });

  it('refused by a full pool counts no start against the rate', async () => {
    const rated = await door.pool('rated', fixed(1, { rate: { rpm: 3, learn: false } }));
    const slotId = await rated.hold();
    for (let i = 0; i < 10; i++) expect((await rated.acquire()).json['reason']).toBe('full');
    await rated.release(slotId);
    await rated.release(await rated.hold());
    await rated.release(await rated.hold());
    expect((await rated.acquire()).json['reason']).toBe('rate');
    expect(rated.inUse).toBe(0);
  });

  it('refused at a full pool says when to try again, in whole seconds and in ms', async () => {
    await caller.hold({ slots: 2 });
    const answer = await caller.acquire();
    expect(answer.status).toBe(429);
    expect(answer.json).toEqual({
      error: 'too_many_requests',
      message: expect.any(String),
      reason: 'full',
      retryAfterMs: 1000,
    });
    expect(answer.headers.get('retry-after')).toBe('1');
    expect(gauge(answer)).toEqual({ remaining: 0, limit: 2, queuedMs: 0, depth: 0 });
  });

  it('refused by a full queue is the newest, at once; the others keep their place', async () => {
    await caller.hold({ slots: 2 });
    const waiting = [await caller.wait(), await caller.wait()];
    const refused = await caller.acquire({ waitMs: 1000 });
    expect(refused.json).toMatchObject({ reason: 'queue_full', error: 'too_many_requests' });
    expect(refused.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    expect(gauge(refused)['depth']).toBe(2);
    expect(waiting.map(({ answer }) => answer)).toEqual([null, null]);
  });

  it('that waited its budget is told 504 then, and not before', async () => {
    await caller.hold({ slots: 2 });
    const told = await caller.wait({ waitMs: 2000 });
    await pass(door, 1999);
    expect(told.answer).toBe(null);
    await pass(door, 1);
    expect(told.answer?.status).toBe(504);
    expect(told.answer?.json).toMatchObject({ error: 'queue_timeout' });
    expect(gauge(told.answer as Answer)).toMatchObject({ queuedMs: 2000, depth: 0, remaining: 0 });
    expect(caller.queued).toBe(0);
  });

  it('waits no longer than the pool allows, however much is asked for', async () => {
    await caller.hold({ slots: 2 });
    const told = await caller.wait({ waitMs: Number.MAX_SAFE_INTEGER });
    await pass(door, 4999);
    expect(told.answer).toBe(null);
    await pass(door, 1);
    expect(told.answer?.status).toBe(504);
  });

  it('that waited has a lease whose term begins at its grant', async () => {
    const slotId = await caller.hold({ slots: 2 });
    const told = await caller.wait();
    await pass(door, 3000);
    await caller.release(slotId);
    await soon(door);
    expect(told.answer?.json).toMatchObject({
      leaseDeadline: T0 + 33_000,
      requestDeadline: T0 + 63_000,
    });
    expect(gauge(told.answer as Answer)).toEqual({
      remaining: 1,
      limit: 2,
      queuedMs: 3000,
      depth: 0,
    });
  });

  it('whose caller hangs up leaves the queue at once, and the next is served', async () => {
    const slotId = await caller.hold({ slots: 2 });
    const hangUp = new AbortController();
    await caller.wait({ waitMs: 4000 }, { signal: hangUp.signal });
    const next = await caller.wait();
    hangUp.abort();
    await soon(door);
    expect(caller.queued).toBe(1);
    await caller.release(slotId);
    await soon(door);
    expect(next.answer?.status).toBe(200);
    expect(caller.inUse).toBe(1);
  });

  it('whose caller hangs up while the grant is written gives the slot to the next', async () => {
    const store = new TestStore();
    door = await Door.open({ store });
    caller = await door.pool('a', fixed(1));
    const slotId = await caller.hold();
    const hangUp = new AbortController();
    await caller.wait({ waitMs: 4000 }, { signal: hangUp.signal });
    const next = await caller.wait();
    await pass(door, 10);
    store.hold();
    await caller.release(slotId);
    await soon(door);
    hangUp.abort();
    store.letGo();
    await soon(door);
    expect(next.answer?.status).toBe(200);
    expect(caller.inUse).toBe(1);
    expect(caller.queued).toBe(0);
  });

  it.each([{}, { waitMs: 4000 }])(
    'asking %j gives a slot back that nobody hears of',
    async (ask) => {
      const store = new TestStore();
      door = await Door.open({ store });
      caller = await door.pool('a', fixed(1));
      store.hold();
      const hangUp = new AbortController();
      const body = JSON.stringify(ask);
      const asked = caller.send('acquire', { body, signal: hangUp.signal });
      await pass(door, 1);
      hangUp.abort();
      store.letGo();
      expect((await door.settled(asked)).status).not.toBe(200);
      expect(caller.inUse).toBe(0);
    },
  );

  it('whose answer was read keeps its slot when the connection ends', async () => {
    const hangUp = new AbortController();
    const { json } = await caller.acquire(undefined, { signal: hangUp.signal });
    hangUp.abort();
    await pass(door, 2000);
    expect(caller.inUse).toBe(1);
    expect((await caller.renew(String(json['slotId']))).status).toBe(200);
  });
});

describe('a key that is revoked while the body arrives', () => {
  it.each(['acquire', 'release'])('opens no %s', async (verb) => {
    const slotId = await caller.hold();
    let end = () => {};
    const body = new ReadableStream({
      start: (controller) => {
        controller.enqueue(new TextEncoder().encode('{'));
        end = () => {
          controller.enqueue(new TextEncoder().encode('}'));
          controller.close();
        };
      },
    });
    const path = verb === 'acquire' ? verb : `${slotId}/${verb}`;
    const asked = caller.send(path, { body });
    await pass(door, 0);
    const { json } = await door.admin('GET', '/pools/a/keys');
    const [{ id }] = json['keys'] as [{ id: string }];
    expect((await door.admin('DELETE', `/pools/a/keys/${id}`)).status).toBe(204);
    end();
    expect((await door.settled(asked)).status).toBe(401);
    expect(caller.inUse).toBe(1);
  });
});

describe('renew', () => {
  it('moves the deadline to a term from now, never past the request deadline', async () => {
    const slotId = await caller.hold();
    await pass(door, 10_000);
    expect((await caller.renew(slotId)).json).toEqual({ leaseDeadline: T0 + 40_000 });
    await pass(door, 25_000);
    expect((await caller.renew(slotId)).json).toEqual({ leaseDeadline: T0 + 60_000 });
    const capped = await caller.renew(slotId);
    expect(capped.status).toBe(409);
    expect(capped.json['error']).toBe('capped');
    await pass(door, 25_000);
    expect((await caller.renew(slotId)).status).toBe(404);
    expect(caller.inUse).toBe(0);
  });

  it('of a lease that lapsed is 404, and makes no new one', async () => {
    const slotId = await caller.hold({ slots: 2 });
    await pass(door, 30_000);
    expect((await caller.renew(slotId)).json['error']).toBe('not_found');
    expect(caller.inUse).toBe(0);
    const other = await caller.hold();
    expect((await caller.release(slotId)).text).toBe('{"released":false}');
    expect((await caller.renew(other)).status).toBe(200);
  });

  it('reads no body', async () => {
    const slotId = await caller.hold();
    const body = new ReadableStream({ pull: () => new Promise(() => {}) });
    expect((await caller.renew(slotId, { body })).status).toBe(200);
    expect((await caller.renew(slotId, { body: '{{{' })).status).toBe(200);
  });
});

describe('release', () => {
  it('frees the slot once; again says that it was gone', async () => {
    const slotId = await caller.hold();
    const answers = await Promise.all(Array.from({ length: 20 }, () => caller.release(slotId)));
    const said = answers.map(({ status, json }) => `${status} ${json['released']}`).sort();
    expect(said).toEqual([...Array(19).fill('200 false'), '200 true']);
    expect(caller.inUse).toBe(0);
  });

  it('at any time after the deadline says the same: gone', async () => {
    for (const lateMs of [0, 50, 500, 2000]) {
      const slotId = await caller.hold();
      door.clock.stall(30_000 + lateMs);
      expect((await caller.release(slotId)).text, `${lateMs}`).toBe('{"released":false}');
      expect(caller.inUse).toBe(0);
    }
  });

  it('carries none of the headers of an acquire', async () => {
    const answer = await caller.release(await caller.hold());
    expect([...answer.headers.keys()].join()).not.toContain('x-nthpool');
  });
});
