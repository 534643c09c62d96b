/** How batches and entries are written as text, and what of an older program can be read. */
import { describe, expect, test } from 'vitest';
import type { LogEntry } from '../../src/store/entry.ts';
import type { Batch } from '../../src/store/store.ts';
import { batchOf, batchText } from '../../src/store/libsql/batch_text.ts';
import { entriesOf, runsOf, runsText } from '../../src/store/libsql/entries_text.ts';
import { batch, entry, lease } from './samples.ts';

const proxied = {
  method: 'GET',
  path: '/x?"y"',
  upstreamStatus: 200,
  durationMs: 5,
  bytesIn: 0,
  bytesOut: 9,
  credential: null,
};
const ENTRIES: LogEntry[] = [
  entry('1', { tokens: 900 }),
  entry('2', { pool: 'b', kind: 'proxy', proxied }),
  entry('3', { count: 5, outcome: 'too_many_requests', reason: 'queue_full', holder: 'h' }),
];

function textOf({ entries, ...rest }: Batch): string {
  return batchText(rest, runsOf(entries));
}

/** In the order in which the ids were given. */
function sorted(entries: readonly LogEntry[]): LogEntry[] {
  return [...entries].sort((a, b) => a.id < b.id ? -1 : 1);
}

describe('a batch', () => {
  test('is read as it was written', () => {
    const leases = [lease('s1', { repeatKey: 'r 1' }), lease('s2')];
    const nonces = [{ pool: 'a', nonce: 'n', until: 5 }];
    const whole = batch({ fence: 12, leases, ended: ['s0'], entries: ENTRIES, nonces });
    const read = batchOf(textOf(whole));
    expect({ ...read, entries: sorted(read.entries) }).toEqual(whole);
    const bare = batch({ fence: 1 });
    expect(batchOf(textOf(bare))).toEqual(bare);
    expect(batchOf(textOf({ ...bare, nonces }))).toEqual({ ...bare, nonces });
  });

  test('of an older program is read, too', () => {
    const text = '[12,11,1767225600000,["a","k","lock","granted","127.0.0.1","b","proxy","GET",' +
      '"too_many_requests","queue_full","h"],[["s1",1,1,0,"homyx1",2,0,0,30000,3600000,1,7]],' +
      '["s0"],[["homyx1",0,1,3,4,200,0,0,1,2,5,0,null,7],' +
      '["homyx2",5,6,7,4,200,0,3,1,0,0,0,null,8,"/x",200,5,0,9,0],' +
      '["homyx3",6,1,3,9,429,10,0,1,2,5,11,4]]]';
    const { leases, entries, ended, fence } = batchOf(text);
    expect([fence, ended]).toEqual([12, ['s0']]);
    expect(leases).toMatchObject([{ slotId: 's1', pool: 'a', fence: 11, keyId: 'k', tokens: 7 }]);
    expect(entries).toEqual(OLDER);
  });
});

describe('runs of entries', () => {
  test('of one pool are read as they were written, joined or not', () => {
    const many = Array.from({ length: 40 }, (_, at) => entry(`n${at}`, { at: 1000 - at }));
    for (const size of [1, 3, 4, 40]) {
      const runs = [];
      for (let at = 0; at < 40; at += size) runs.push(...runsOf(many.slice(at, at + size)));
      expect(entriesOf(runsText(runs))).toEqual(many);
    }
  });

  test('repeat no words where they are short', () => {
    const few = Array.from({ length: 40 }, (_, at) => runsOf([entry(`n${at}`)])).flat();
    expect(runsText(few).match(/granted/g)).toHaveLength(1);
  });

  test('tell of themselves what a segment is found by', () => {
    const [a, b] = runsOf([
      entry('zz', { at: 7 }),
      entry('100', { at: 5, outcome: 'too_many_requests' }),
      entry('1', { pool: 'b' }),
    ]);
    expect(a).toMatchObject({ pool: 'a', count: 2, atFirst: 5, atLast: 7, newestId: '100' });
    expect([...a?.outcomes ?? []]).toEqual(['granted', 'too_many_requests']);
    expect(b).toMatchObject({ pool: 'b', count: 1 });
  });

  test('hold 500 at most', () => {
    const many = Array.from({ length: 1001 }, (_, at) => entry(`${at}`));
    expect(runsOf(many).map(({ count }) => count)).toEqual([500, 500, 1]);
  });

  test('of an older program are read, too', () => {
    const text = '[1767225600000,["a","lock","granted","k","127.0.0.1","b","proxy","GET",' +
      '"too_many_requests","queue_full","h"],[["homyx1",0,1,2,3,200,0,0,1,4,5,0,null,7],' +
      '["homyx2",5,6,7,3,200,0,3,1,0,0,0,null,8,"/x",200,5,0,9,0],' +
      '["homyx3",6,1,2,9,429,10,0,1,4,5,11,4]]]';
    expect(entriesOf(text)).toEqual(OLDER);
  });
});

const COMMON = {
  kind: 'lock',
  status: 200,
  reason: null,
  queuedMs: 0,
  slots: 1,
  keyId: 'k',
  address: '127.0.0.1',
  holder: null,
} as const;
const OLDER: LogEntry[] = [
  { ...COMMON, id: 'homyx1', at: 1767225600000, pool: 'a', outcome: 'granted', tokens: 7 },
  {
    ...COMMON,
    id: 'homyx2',
    at: 1767225600005,
    pool: 'b',
    kind: 'proxy',
    outcome: 'granted',
    queuedMs: 3,
    keyId: null,
    address: null,
    proxied: { ...proxied, path: '/x' },
  },
  {
    ...COMMON,
    id: 'homyx3',
    at: 1767225600006,
    pool: 'a',
    outcome: 'too_many_requests',
    status: 429,
    reason: 'queue_full',
    holder: 'h',
    count: 4,
  },
];
