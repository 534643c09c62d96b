/**
 * The changes of a pool as the API lists them, whoever made them.
 */
import { beforeEach, describe, expect, it } from 'vitest';
import { type Caller, Door, fixed } from './door.ts';

let door: Door;
let caller: Caller;

beforeEach(async () => {
  door = await Door.open();
  caller = await door.pool('a', fixed(2));
});

/** Oldest first. */
async function told() {
  const { events } = (await door.admin('GET', '/pools/a/governor/events')).json;
  const rows = events as { what: string; from: number; to: number; why: string }[];
  return rows.map(({ what, from, to, why }) => [what, from, to, why]).reverse();
}

describe('GET /pools/{pool}/governor/events', () => {
  it("lists an operator's pause and resume, with the reason", async () => {
    await door.admin('POST', '/pools/a/pause', { reason: 'backup' });
    await door.admin('POST', '/pools/a/resume');
    expect(await told()).toEqual([
      ['pause', 0, null, 'paused by the operator: backup'],
      ['pause', null, 0, 'resumed by the operator'],
    ]);
  });

  it('lists rates that an operator sets', async () => {
    await door.admin('PATCH', '/pools/a', { rate: { rpm: 60 } });
    await door.admin('PATCH', '/pools/a', { rate: { rpm: null, tpm: 900 } });
    const why = 'the operator changed the settings';
    expect(await told()).toEqual([
      ['rpm', null, 60, why],
      ['rpm', 60, null, why],
      ['tpm', null, 900, why],
    ]);
  });

  it('lists that headers leave nothing', async () => {
    const rate = { limit: 60, remaining: 0, resetMs: 50_000, windowMs: 60_000 };
    await caller.release(await caller.hold(), { status: 200, rate });
    const shutMs = Number((await caller.acquire()).json['retryAfterMs']);
    expect(await told()).toEqual([
      ['rpm', null, 60, "the upstream's headers say so"],
      ['pause', 0, shutMs, "the upstream's headers leave nothing"],
    ]);
  });
});
