/**
 * What viewers are told of pools: each change of what is shown, whoever or whatever made it.
 */
import { describe, expect, it } from 'vitest';
import { TestServer } from '../support/server.ts';

interface Told {
  readonly name: string;
  readonly state: string;
  readonly rpm: number | null;
  readonly reason: string;
  readonly openTo: string | null;
}

/** A server with one pool and a viewer, who has heard all that there was. */
class Viewing {
  readonly test: TestServer;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  #text = '';

  private constructor(test: TestServer, stream: ReadableStream<Uint8Array>) {
    this.test = test;
    this.#reader = stream.getReader();
    void this.#read();
  }

  static async start(pools = ['p1'], query = ''): Promise<Viewing> {
    const test = await TestServer.start();
    for (const name of pools) await test.openPool(name);
    const viewing = new Viewing(test, (await test.admin('GET', `/events${query}`)).body!);
    for (let second = 0; second * 200 < pools.length; second++) await test.clock.pass(1000);
    viewing.#text = '';
    return viewing;
  }

  async #read(): Promise<void> {
    for (;;) {
      const { value, done } = await this.#reader.read();
      if (done) return;
      this.#text += new TextDecoder().decode(value);
    }
  }

  /** The pools told within this time, one event after the other. */
  async told(withinMs: number): Promise<Told[]> {
    await this.test.clock.pass(withinMs);
    await this.test.clock.settle();
    const text = this.#text;
    this.#text = '';
    const events = text.matchAll(/event: pools\ndata: (.*)\n/g);
    return [...events].flatMap(([, json = '']) => JSON.parse(json).pools as Told[]);
  }

  async gone(withinMs: number): Promise<string[]> {
    await this.test.clock.pass(withinMs);
    await this.test.clock.settle();
    const gone = [...this.#text.matchAll(/event: gone\ndata: (.*)\n/g)];
    return gone.flatMap(([, json = '']) => JSON.parse(json).pools as string[]);
  }

  change(settings: object): Promise<Response> {
    return this.test.admin('PATCH', '/pools/p1', settings);
  }

  pause(body: object): Promise<Response> {
    return this.test.admin('POST', '/pools/p1/pause', body);
  }

  close(): void {
    this.test.server.desk.watch.close();
  }
}

describe('viewers are told', () => {
  it("that an operator's pause ended by itself", async () => {
    const viewing = await Viewing.start();
    await viewing.pause({ untilMs: viewing.test.clock.nowMs() + 2500 });
    expect(await viewing.told(2000)).toMatchObject([{ state: 'paused' }]);
    expect(await viewing.told(2000)).toMatchObject([{ state: 'idle' }]);
    viewing.close();
  });

  it("that an upstream's pause ended by itself, and not of each second of it", async () => {
    const viewing = await Viewing.start();
    const { test } = viewing;
    const { slotId } = await (await test.acquire('p1')).json();
    const body = { status: 429, throttled: 1, retryAfterMs: 5500 };
    await test.call(`/pools/p1/lock/${slotId}/release`, { method: 'POST', body });
    const paused = await viewing.told(5000);
    expect(paused).toMatchObject([{ state: 'paused', reason: expect.stringContaining('for 5 s') }]);
    expect(await viewing.told(1000)).toMatchObject([{ state: 'idle' }]);
    viewing.close();
  });

  const SECRET = 'a secret of the viewers 0123456789';
  it.each([
    ['rate.rpm', { rate: { rpm: 600 } }, { rpm: 600 }],
    ['rate.tpm', { rate: { tpm: 60_000 } }, {}],
    ['access', { access: { hmac: { secrets: [SECRET] } } }, { openTo: null }],
    ['concurrency.mode', { concurrency: { mode: 'adaptive' } }, {}],
    ['concurrency.max', { concurrency: { min: 2, max: 99 } }, {}],
    ['queue', { queue: { maxDepth: 5 } }, {}],
    ['upstream', { upstream: { url: 'http://127.0.0.1:9' } }, {}],
  ])('of a change of %s, once', async (_, settings, shown) => {
    const viewing = await Viewing.start();
    expect((await viewing.change(settings)).status).toBe(200);
    expect(await viewing.told(5000)).toMatchObject([{ name: 'p1', ...shown }]);
    viewing.close();
  });

  it('of a new reason for the same pause, but nothing while nothing changes', async () => {
    const viewing = await Viewing.start();
    await viewing.pause({ reason: 'back in 5 s' });
    expect(await viewing.told(3000)).toMatchObject([{
      reason: 'paused by the operator: back in 5 s',
    }]);
    await viewing.pause({ reason: 'back in 9 s' });
    expect(await viewing.told(3000)).toMatchObject([{
      reason: 'paused by the operator: back in 9 s',
    }]);
    void viewing.test.acquire('p1', { waitMs: 9000 });
    expect(await viewing.told(5000)).toHaveLength(1);
    viewing.close();
  });

  it('of a busy pool once a second', async () => {
    const viewing = await Viewing.start();
    for (let at = 0; at < 10; at++) {
      await viewing.test.acquire('p1');
      await viewing.test.clock.pass(300);
    }
    expect(await viewing.told(0)).toHaveLength(3);
    viewing.close();
  });

  it('of one among many, and of one that is gone', async () => {
    const names = Array.from({ length: 250 }, (_, at) => `p${at}`);
    const viewing = await Viewing.start(names);
    await viewing.test.acquire('p249');
    expect(await viewing.told(1000)).toMatchObject([{ name: 'p249' }]);
    await viewing.test.admin('DELETE', '/pools/p7');
    expect(await viewing.gone(1000)).toEqual(['p7']);
    viewing.close();
  });
  it('that the pool which they ask for is gone, also where it was before they came', async () => {
    const viewing = await Viewing.start([], '?pool=p1');
    expect(await viewing.gone(1000)).toEqual(['p1']);
    viewing.close();
  });
});
