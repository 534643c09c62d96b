/**
 * Bodies of every shape on acquire: what is empty is empty, what is wrong is a 400 that holds
 * nothing, what is too large is a 413, what is too slow is cut off, and nothing is a 5xx.
 */
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { empty, fine, padded, text, wrong } from './bodies.ts';
import { type Caller, Door, fixed, pass } from './door.ts';

let door: Door;
let caller: Caller;

beforeEach(async () => {
  door = await Door.open();
  caller = await door.pool('a', fixed(2));
});

describe('acquire', () => {
  it.each(Object.entries({ ...empty, ...fine }))('takes %s as no wish', async (_, body) => {
    const { status, text } = await caller.acquire(body);
    expect(status, text).toBe(200);
    expect(caller.inUse).toBe(1);
  });

  it.each(Object.entries(wrong))('refuses %s with 400 and holds nothing', async (_, body) => {
    const { status, json } = await caller.acquire(body);
    expect(status).toBe(400);
    expect(json['error']).toBe('invalid_request');
    expect(json['issues']).toContainEqual({ path: expect.any(String), reason: expect.any(String) });
    expect(caller.inUse).toBe(0);
  });

  it.each([
    ['waitMs', ['-1', '1.5', '"2000"', 'true', '[]', '{}', '1e309', '-1e309', '1e-3']],
    ['slots', ['0', '-1', '1.5', '"1"', '1000001', '9007199254740993', '1e309', 'true', '[1]']],
    ['tokens', ['-1', '0.5', '"7"', '1e309', '9007199254740993']],
    ['holder', ['7', '[]', '"a\\nb"', '"\\u001b[31m"', '"\\u0000"', '"\\u202e"', '"\\ud800"']],
  ])('refuses every bad %s, and names it', async (field, values) => {
    for (const value of values) {
      const { status, json } = await caller.acquire(`{"${field}":${value}}`);
      expect(status, value).toBe(400);
      const [issue] = json['issues'] as { path: string; reason: string }[];
      expect(issue, value).toEqual({ path: field, reason: expect.any(String) });
      expect(json['message'], value).toBe(`${field}: ${issue?.reason}`);
    }
    expect(caller.inUse).toBe(0);
    expect(caller.queued).toBe(0);
  });

  it('takes a holder of 128 characters, and refuses one of 129', async () => {
    expect((await caller.acquire({ holder: 'ü'.repeat(128) })).status).toBe(200);
    expect((await caller.acquire({ holder: '😀'.repeat(128) })).status).toBe(200);
    expect((await caller.acquire({ holder: 'x'.repeat(129) })).status).toBe(400);
  });

  it('refuses more slots than the limit with 400 that names it, for a waiter too', async () => {
    for (const wish of [{ slots: 3 }, { slots: 3, waitMs: 1000 }]) {
      const { status, json } = await caller.acquire(wish);
      expect(status).toBe(400);
      expect(json['message']).toContain('2');
      expect(json['issues']).toMatchObject([{ path: 'slots' }]);
    }
    expect(caller.queued).toBe(0);
  });

  it('names at most twenty faults of a body that is full of them', async () => {
    const { json } = await caller.acquire('{"slots":-1,"waitMs":-1,"tokens":-1,"holder":7}');
    expect(json['issues']).toHaveLength(4);
  });

  it('ignores the content type', async () => {
    for (
      const type of [
        'application/x-www-form-urlencoded',
        'text/plain',
        'application/json; charset=utf-8',
        'application/problem+json',
        'multipart/form-data',
        'x',
      ]
    ) {
      const headers = { 'content-type': type };
      const { status, json } = await caller.acquire('{"slots":2}', { headers });
      expect(status, type).toBe(200);
      await caller.release(String(json['slotId']));
    }
  });
});

/** A body that is sent in pieces of so many bytes. */
function stream(whole: Uint8Array, size: number): ReadableStream {
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= whole.length) return controller.close();
      controller.enqueue(whole.subarray(at, at + size));
      at += size;
    },
  });
}

describe('the ceiling of a body', () => {
  const MAX = 65_536;

  it('is 64 KiB, whether the length is declared or not', async () => {
    for (const size of [MAX - 1, MAX, MAX + 1]) {
      const declared = { headers: { 'content-length': String(size) } };
      const wanted = size > MAX ? 413 : 200;
      const first = await caller.acquire(padded(size), declared);
      expect(first.status, `${size} declared`).toBe(wanted);
      if (wanted === 200) await caller.release(String(first.json['slotId']));
      const body = stream(text(padded(size)), 1000);
      const second = await door.settled(caller.send('acquire', { body }));
      expect(second.status, `${size} streamed`).toBe(wanted);
      if (wanted === 200) await caller.release(String(second.json['slotId']));
    }
    expect(caller.inUse).toBe(0);
  });

  it('is told before the body is read where the length is declared', async () => {
    const headers = { 'content-length': '999999999999' };
    const pull = vi.fn(() => new Promise<void>(() => {}));
    const body = new ReadableStream<Uint8Array>({ pull }, { highWaterMark: 0 });
    const { status, json } = await door.settled(caller.send('acquire', { headers, body }));
    expect(status).toBe(413);
    expect(json['error']).toBe('payload_too_large');
    expect(pull).not.toHaveBeenCalled();
  });

  it('stops the reading of a body without an end', async () => {
    let pulled = 0;
    const endless = new ReadableStream({
      pull(controller) {
        pulled++;
        controller.enqueue(new Uint8Array(1000));
      },
    });
    const { status } = await door.settled(caller.send('acquire', { body: endless }));
    expect(status).toBe(413);
    expect(pulled).toBeLessThan(100);
  });

  it('is told with the headers of the pool, and leaves a row in the log', async () => {
    const { headers } = await caller.acquire(padded(MAX + 1));
    expect(headers.get('x-nthpool-remaining-slots')).toBe('2');
    await door.clock.pass(300);
    const { json } = await door.admin('GET', '/pools/a/log');
    expect(json['entries']).toMatchObject([{
      id: headers.get('x-nthpool-request-id'),
      outcome: 'payload_too_large',
      status: 413,
    }]);
  });

  it('is 1 MiB for the administration', async () => {
    const fits = JSON.stringify({ name: 'b' }).padEnd(1_048_576);
    expect((await door.admin('POST', '/pools', fits)).status).toBe(201);
    const over = JSON.stringify({ name: 'c' }).padEnd(1_048_577);
    expect((await door.admin('POST', '/pools', over)).status).toBe(413);
    expect((await door.admin('GET', '/pools/c')).status).toBe(404);
  });
});

describe('a body that comes too slowly', () => {
  it('is cut off after 10 s, and holds no slot', async () => {
    const body = new ReadableStream({
      start: (controller) => controller.enqueue(text('{"slots"')),
    });
    let status = 0;
    void caller.send('acquire', { body }).then((answer) => status = answer.status);
    await pass(door, 9_900);
    expect(status).toBe(0);
    await pass(door, 1_200);
    expect(status).toBe(400);
    expect(caller.inUse).toBe(0);
  });

  it('that breaks off is a 400', async () => {
    const body = new ReadableStream({ start: (controller) => controller.error(new Error('gone')) });
    const { status, text } = await door.settled(caller.send('acquire', { body }));
    expect(status).toBe(400);
    expect(text).not.toContain('gone');
    expect(caller.inUse).toBe(0);
  });

  it('for a pool that is deleted and made again meanwhile is refused', async () => {
    let go = () => {};
    const body = new ReadableStream({
      start(controller) {
        go = () => {
          controller.enqueue(text('{}'));
          controller.close();
        };
      },
    });
    const sent = caller.send('acquire', { body });
    await door.admin('DELETE', '/pools/a');
    const again = await door.pool('a', fixed(2));
    go();
    expect((await door.settled(sent)).status).toBe(401);
    expect(again.inUse).toBe(0);
  });
});
