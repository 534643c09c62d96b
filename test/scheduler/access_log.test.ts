/**
 * The rows of refusals: one each up to a rate, then one a second for all the others.
 */
import { describe, expect, it } from 'vitest';
import { AccessLog } from '../../src/scheduler/access_log.ts';
import type { LogEntry } from '../../src/store/entry.ts';
import { unsent } from '../../src/store/entry.ts';
import { ManualClock } from '../support/manual_clock.ts';
import { T0 } from '../support/pools.ts';

function entry(more: Partial<LogEntry> = {}): LogEntry {
  return {
    id: '1a',
    at: T0,
    pool: 'a',
    kind: 'lock',
    outcome: 'too_many_requests',
    status: 429,
    reason: 'full',
    queuedMs: 3,
    slots: 1,
    keyId: 'key 1',
    address: '127.0.0.1',
    holder: 'me',
    ...more,
  };
}

function table() {
  const clock = new ManualClock();
  const rows: LogEntry[] = [];
  return { clock, rows, log: new AccessLog({ log: (row) => rows.push(row) }, clock) };
}

describe('AccessLog', () => {
  it('gives 100 refusals a second a row each, and counts the rest in one', async () => {
    const { clock, rows, log } = table();
    for (let each = 0; each < 250; each++) log.noteRefusal(entry({ id: `${each}`, at: T0 + each }));
    expect(rows).toHaveLength(100);
    await clock.pass(1000);
    expect(rows).toHaveLength(101);
    expect(rows[100]).toEqual(entry({
      id: '249',
      at: T0 + 249,
      count: 150,
      queuedMs: 0,
      keyId: null,
      address: null,
      holder: null,
    }));
  });

  it('counts each pool and code apart', async () => {
    const { clock, rows, log } = table();
    for (let each = 0; each < 101; each++) {
      log.noteRefusal(entry());
      log.noteRefusal(entry({ pool: 'b' }));
      log.noteRefusal(entry({ outcome: 'queue_timeout' }));
    }
    await clock.pass(1000);
    const summaries = rows.filter(({ count }) => count !== undefined);
    expect(summaries.map(({ pool, outcome, count }) => [pool, outcome, count])).toEqual([
      ['a', 'too_many_requests', 1],
      ['b', 'too_many_requests', 1],
      ['a', 'queue_timeout', 1],
    ]);
  });

  it('starts anew each second, and writes no summary of nothing', async () => {
    const { clock, rows, log } = table();
    for (let second = 0; second < 3; second++) {
      for (let each = 0; each < 100; each++) log.noteRefusal(entry());
      await clock.pass(1000);
    }
    expect(rows).toHaveLength(300);
    expect(clock.armed).toBe(0);
  });

  it('writes the last summary when it is asked to, and leaves no timer', () => {
    const { clock, rows, log } = table();
    for (let each = 0; each < 103; each++) log.noteRefusal(entry());
    log.summarise();
    expect(rows.map(({ count }) => count).slice(100)).toEqual([3]);
    expect(clock.armed).toBe(0);
  });

  it('says in a summary nothing of what one of many asked for', async () => {
    const { clock, rows, log } = table();
    const proxied = unsent('GET', '/a');
    for (let each = 0; each < 102; each++) log.noteRefusal(entry({ kind: 'proxy', proxied }));
    await clock.pass(1000);
    expect(rows[99]).toMatchObject({ proxied });
    expect(rows[100]).toMatchObject({ count: 2 });
    expect(rows[100]).not.toHaveProperty('proxied');
  });

  it('writes every grant', () => {
    const { rows, log } = table();
    for (let each = 0; each < 500; each++) {
      log.noteGrant(entry({ outcome: 'granted', status: 200 }));
    }
    expect(rows).toHaveLength(500);
  });
});
