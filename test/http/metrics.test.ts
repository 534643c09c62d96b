import { describe, expect, it } from 'vitest';
import { AS_ADMIN, METRICS_TOKEN, TestServer } from '../support/server.ts';

const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

async function metricsOf(test: TestServer): Promise<Map<string, number>> {
  const text = await (await test.call('/metrics', { headers: AS_ADMIN })).text();
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(lines.map((line) => {
    const at = line.lastIndexOf(' ');
    return [line.slice(0, at), Number(line.slice(at + 1))];
  }));
}

describe('GET /metrics', () => {
  it('opens to the admin token and the metrics token, and to nobody else', async () => {
    const test = await TestServer.start();
    expect((await test.call('/metrics', { headers: AS_ADMIN })).status).toBe(200);
    const answer = await test.call('/metrics', bearer(METRICS_TOKEN));
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toContain('text/plain');
    expect((await test.call('/metrics')).status).toBe(401);
    expect((await test.call('/metrics', bearer('x'))).status).toBe(401);
    expect((await test.call('/admin/api/pools', bearer(METRICS_TOKEN))).status).toBe(401);
  });

  it('tells of slots, limits, the queue, refusals by code and waits', async () => {
    const test = await TestServer.start();
    await test.openPool('p1', { concurrency: { limit: 2 } });
    await test.acquire('p1');
    await test.acquire('p1');
    expect((await test.acquire('p1')).status).toBe(429);
    const waiting = test.acquire('p1', { waitMs: 4000 });
    await test.clock.settle();
    await test.clock.pass(3000);
    const metrics = await metricsOf(test);
    expect(metrics.get('nthbouncer_pools')).toBe(1);
    expect(metrics.get('nthbouncer_pool_slots_in_use{pool="p1"}')).toBe(2);
    expect(metrics.get('nthbouncer_pool_effective_limit{pool="p1"}')).toBe(2);
    expect(metrics.get('nthbouncer_pool_queued{pool="p1"}')).toBe(1);
    expect(metrics.get('nthbouncer_pool_oldest_wait_seconds{pool="p1"}')).toBe(3);
    expect(metrics.get('nthbouncer_grants_total{pool="p1"}')).toBe(2);
    expect(metrics.get('nthbouncer_refusals_total{pool="p1",code="too_many_requests"}')).toBe(1);
    expect(metrics.get('nthbouncer_wait_seconds_bucket{pool="p1",le="0"}')).toBe(3);
    expect(metrics.get('nthbouncer_wait_seconds_count{pool="p1"}')).toBe(3);
    expect(metrics.get('nthbouncer_flush_seconds_count')).toBeGreaterThan(0);
    await test.clock.pass(1000);
    expect((await waiting).status).toBe(504);
    const later = await metricsOf(test);
    expect(later.get('nthbouncer_wait_seconds_bucket{pool="p1",le="5"}')).toBe(4);
    expect(later.get('nthbouncer_wait_seconds_bucket{pool="p1",le="2.5"}')).toBe(3);
    expect(later.get('nthbouncer_wait_seconds_sum{pool="p1"}')).toBe(4);
  });

  it('counts from 0 for a pool that is made again, as do its charts', async () => {
    const test = await TestServer.start();
    await test.openPool('p1');
    await test.acquire('p1');
    await test.acquire('p1');
    test.server.desk.history.sample();
    await test.admin('DELETE', '/pools/p1');
    await test.openPool('p1');
    const granted = async () => (await metricsOf(test)).get('nthbouncer_grants_total{pool="p1"}');
    expect(await granted()).toBe(0);
    await test.acquire('p1');
    expect(await granted()).toBe(1);
    await test.clock.pass(5000);
    test.server.desk.history.sample();
    expect(test.server.desk.history.read('p1', '5m').granted.at(-1)).toBe(1);
  });

  it('makes no series of unknown names, slots or keys', async () => {
    const test = await TestServer.start();
    await test.openPool('p1');
    await test.acquire('p1');
    const before = (await metricsOf(test)).size;
    for (let i = 0; i < 50; i++) {
      await test.acquire(`unknown-${i}`);
      await test.call(`/pools/p1/lock/slot-${i}/renew`, { method: 'POST' });
      await test.call('/pools/p1/lock/acquire', {
        method: 'POST',
        headers: { 'x-nthpool-key': `nb_live_${i}` },
      });
    }
    const after = await metricsOf(test);
    const made = [...after.keys()].filter((name) => !name.includes('code="unauthorized"'));
    expect(made.length).toBe(before);
    expect(after.get('nthbouncer_unknown_pool_calls_total')).toBe(50);
    expect([...after.keys()].join()).not.toContain('unknown-');
  });

  it('sums pools beyond the ceiling of series', async () => {
    const test = await TestServer.start();
    for (let i = 0; i < 1003; i++) await test.openPool(`p${i}`, { concurrency: { limit: 3 } });
    for (const name of ['p1000', 'p1001']) {
      await test.admin('POST', `/pools/${name}/pause`, {});
      void test.acquire(name, { waitMs: 20_000 });
    }
    await test.clock.pass(5_000);
    const metrics = await metricsOf(test);
    expect(metrics.get('nthbouncer_pool_queued{pool="_other"}')).toBe(2);
    expect(metrics.get('nthbouncer_pool_oldest_wait_seconds{pool="_other"}')).toBe(5);
    expect(metrics.get('nthbouncer_pools')).toBe(1003);
    expect(metrics.get('nthbouncer_pool_limit{pool="p999"}')).toBe(3);
    expect(metrics.has('nthbouncer_pool_limit{pool="p1000"}')).toBe(false);
    expect(metrics.get('nthbouncer_pool_limit{pool="_other"}')).toBe(9);
  });
});
