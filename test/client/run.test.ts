/** Work with a slot: what is released, and what the caller gets. */
import { describe, expect, it } from 'vitest';
import { make } from './stage.ts';

describe('Pool.run', () => {
  it('releases with what the work reported, and gives its result', async () => {
    const { server, pool } = make();
    const result = await pool.run((slot) => {
      slot.report(new Response('', { status: 429, headers: { 'retry-after': '3' } }));
      slot.report(
        new Response('', { headers: { 'x-ratelimit-remaining': '5', 'x-secret': 's' } }),
      );
      return 42;
    });
    expect(result).toBe(42);
    expect(server.leases[0]).toMatchObject({
      state: 'released',
      report: { status: 200, throttled: 1, headers: { 'x-ratelimit-remaining': '5' } },
    });
  });

  it('releases when the work fails, and tells its error', async () => {
    const { server, pool } = make();
    const failing = pool.run(() => Promise.reject(new Error('work')));
    await expect(failing).rejects.toThrow('work');
    expect(server.leases[0]).toMatchObject({ state: 'released', report: { status: 500 } });
  });
});
