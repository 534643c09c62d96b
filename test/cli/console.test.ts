/** What the console reads and shows: settings, durations, tables, gates, findings, log entries. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { Refusal } from '../../src/cli/admin_client.ts';
import { EXIT } from '../../src/cli/command.ts';
import { poolFinding } from '../../src/cli/doctor.ts';
import { durationMs, shownMs } from '../../src/cli/duration.ts';
import { instantOf } from '../../src/cli/fields.ts';
import { gatesOf, refusing } from '../../src/cli/gates.ts';
import { lifetimeMs } from '../../src/cli/key_commands.ts';
import { COLUMNS, Fresh, newest } from '../../src/cli/log_command.ts';
import { poolsNow, STATUS_COLUMNS } from '../../src/cli/pool_commands.ts';
import { settingsOf } from '../../src/cli/settings_words.ts';
import { tableOf } from '../../src/cli/show.ts';

describe('settingsOf', () => {
  it('makes one object of the words', () => {
    expect(settingsOf([
      'concurrency.limit=8',
      'concurrency.mode=adaptive',
      'rate.rpm=null',
      'access.key.headers=["x-api-key"]',
      'log={"rowsMax":5}',
      'rate.hints.resetUnit="ms"',
    ])).toEqual({
      concurrency: { limit: 8, mode: 'adaptive' },
      rate: { rpm: null, hints: { resetUnit: 'ms' } },
      access: { key: { headers: ['x-api-key'] } },
      log: { rowsMax: 5 },
    });
  });

  it.each(['limit', '=5', 'a..b=1', 'a.__proto__.b=1', 'a b=1'])('does not take %s', (word) => {
    expect(() => settingsOf([word])).toThrow('a setting is wanted');
  });
});

describe('the newest log entries', () => {
  it('are looked for on the pages behind empty ones, and no more than are wanted', async () => {
    const pages = [[], ['7'], [], ['5', '4'], ['1']];
    const asked: string[] = [];
    const get = (path: string) => {
      const at = asked.push(path) - 1;
      const entries = (pages[at] ?? []).map((id) => ({ id }));
      return Promise.resolve({ entries, nextCursor: String(90 - at) });
    };
    const found = await newest({ get }, '/log', { outcome: 'granted' }, 3);
    expect(found.map(({ id }) => id)).toEqual(['7', '5', '4']);
    expect(asked).toEqual([
      '/log?outcome=granted&limit=3',
      '/log?outcome=granted&limit=3&cursor=90',
      '/log?outcome=granted&limit=2&cursor=89',
      '/log?outcome=granted&limit=2&cursor=88',
    ]);
  });
});

describe('durations', () => {
  it.each([['500ms', 500], ['1.5s', 1_500], ['2m', 120_000], ['1h', 3_600_000], [
    '7d',
    604_800_000,
  ]])(
    'reads %s',
    (text, ms) => expect(durationMs(text)).toBe(ms),
  );

  it.each(['', '5', '-1s', '1 s', '5w', '1e3s'])('does not read "%s"', (text) => {
    expect(() => durationMs(text)).toThrow('It must be a duration');
  });

  it('of a key is longer than nothing', () => {
    expect(lifetimeMs('1ms')).toBe(1);
    for (const text of ['0s', '0.4ms']) expect(() => lifetimeMs(text)).toThrow('longer than 0');
  });

  it.each([[999, '999 ms'], [59_999, '59 s'], [60_000, '1 m'], [3_723_000, '1 h 2 m'], [
    90_000_000,
    '1 d 1 h',
  ]])('shows %i ms', (ms, text) => expect(shownMs(ms)).toBe(text));
});

describe('tableOf', () => {
  it('aligns, and lets no cell move the cursor', () => {
    const rows = [{ a: 'x\x1b[2J\n', n: 5 }, { a: 'longer', n: 12 }];
    const lines = tableOf(rows, [['A', ({ a }) => String(a)], ['N', ({ n }) => String(n)]]);
    expect(lines).toEqual(['A        N', 'x�[2J�   5', 'longer  12']);
  });
});

describe('gatesOf', () => {
  const open = { inUse: 1, effectiveLimit: 2, queued: 0, rpm: 60, rpmRemaining: 5, gate: null };

  it('finds no gate shut where a caller would be granted a slot', () => {
    expect(refusing(gatesOf({ ...open, reason: 'fixed' }))).toBeNull();
  });

  it.each([
    ['pause', { gate: { reason: 'paused', until: 9_000 }, inUse: 2, reason: 'lunch' }, 9_000],
    ['rate', { gate: { reason: 'rate', until: 8_000 }, queued: 3 }, 8_000],
    ['queue', { queued: 3, inUse: 2 }, null],
    ['slots', { inUse: 2 }, null],
    ['server', { closed: 'storage_unavailable', inUse: 2 }, null],
  ])('names the first that is: %s', (gate, status, until) => {
    expect(refusing(gatesOf({ ...open, ...status }))).toMatchObject({ gate, until });
  });

  it.each([
    ['pause', ['lunch', '5 of 60 starts a minute left', '1 of 2 in use']],
    ['rate', ['not paused', '5 of 60 starts a minute left; lunch', '1 of 2 in use']],
    ['slots', ['not paused', '5 of 60 starts a minute left', '1 of 2 in use; limit: lunch']],
  ])('gives the reason to the gate that it is about: %s', (about, whys) => {
    const gates = gatesOf({ ...open, about, reason: 'lunch' });
    expect(gates.filter(({ gate }) => gate !== 'queue').map(({ why }) => why)).toEqual(whys);
  });
});

describe('the gate of credentials', () => {
  const calm = { inUse: 0, effectiveLimit: 2, queued: 0, gate: null };
  const free = (name: string) => ({ name, coolingUntil: null, coolingFor: null });
  const aside = (name: string, coolingFor: number, coolingUntil: number) => ({
    name,
    coolingFor,
    coolingUntil,
  });
  const gateOf = (...credentials: object[]) =>
    gatesOf({ ...calm, credentials }).find(({ gate }) => gate === 'credentials');

  it('is shut while all are put aside, and tells each by name, status and time', () => {
    const credentials = [aside('a', 401, 60_000), aside('b', 429, 9_000)];
    const shut = refusing(gatesOf({ ...calm, credentials }));
    expect(shut).toMatchObject({ gate: 'credentials', until: 9_000 });
    expect(shut?.why).toBe(
      'all credentials are put aside: ' +
        'a by 401 until 1970-01-01T00:01:00Z, b by 429 until 1970-01-01T00:00:09Z',
    );
    const gates = gatesOf({ ...calm, gate: { reason: 'paused', until: null }, credentials });
    expect(refusing(gates)).toMatchObject({ gate: 'pause' });
    const rows = [{ ...calm, credentials }, { ...calm, credentials, paused: true }];
    const [, first, second] = tableOf(rows, STATUS_COLUMNS);
    expect(first).toMatch(/ no credential +all credentials are put aside: a by 401 /);
    expect(second).toMatch(/ paused /);
  });

  it('is open while one is free, and tells those that are aside', () => {
    expect(gateOf(aside('a', 403, 60_000), free('b'), free('c'))).toMatchObject({
      isOpen: true,
      until: null,
      why: 'put aside: a by 403 until 1970-01-01T00:01:00Z; calls go on with b, c',
    });
    expect(gateOf(free('a'))).toMatchObject({ isOpen: true, why: 'none is put aside' });
  });

  it('is not there where there are none', () => {
    expect(gateOf()).toBeUndefined();
    expect(gatesOf(calm)).toHaveLength(4);
  });
});

describe('poolsNow', () => {
  const client = (code: string) => ({
    get: async (path: string) => {
      if (path === '/pools') return { pools: [{ name: 'a' }, { name: 'gone' }] };
      if (path === '/pools/gone/status') throw new Refusal('No.', code);
      return await Promise.resolve({ inUse: 1 });
    },
  });

  it('leaves out a pool that was deleted meanwhile, and no other trouble', async () => {
    expect(await poolsNow(client('not_found'))).toEqual([
      { spec: { name: 'a' }, status: { name: 'a', inUse: 1 } },
    ]);
    await expect(poolsNow(client('storage_unavailable'))).rejects.toThrow('No.');
  });
});

describe('poolFinding', () => {
  const spec = { name: 'p', queue: { maxDepth: 2 }, access: { key: { required: true } } };
  const calm = { paused: false, queued: 0, inUse: 0, effectiveLimit: 2, reason: 'fixed' };

  it.each([
    ['ok', spec, calm],
    ['odd', spec, { ...calm, paused: true }],
    ['odd', spec, { ...calm, queued: 2 }],
    ['odd', spec, { ...calm, queued: 1, oldestWaitMs: 61_000 }],
    ['odd', { ...spec, access: { key: { required: false } } }, calm],
  ])('calls it %s', (state, pool, status) => {
    expect(poolFinding(pool, status)).toMatchObject({ check: 'pool p', state });
  });

  it.each([
    [{ a: 401 }, 'the upstream refused the credential a with 401; is its value right?'],
    [
      { a: 401, b: 429, c: 403 },
      'the upstream refused the credential a with 401 and the credential c with 403; ' +
      'are their values right?',
    ],
  ])('asks for the value of a credential that was refused: %o', (refused, detail) => {
    const credentials = Object.entries(refused).map(([name, coolingFor]) => ({
      name,
      coolingFor,
      coolingUntil: 60_000,
    }));
    const keyless = { ...spec, access: { key: { required: false } } };
    expect(poolFinding(keyless, { ...calm, credentials })).toMatchObject({ state: 'odd', detail });
  });

  it('is well with credentials that are free, or throttled', () => {
    const credentials = [
      { name: 'a', coolingFor: null, coolingUntil: null },
      { name: 'b', coolingFor: 429, coolingUntil: 60_000 },
    ];
    expect(poolFinding(spec, { ...calm, credentials })).toMatchObject({ state: 'ok' });
  });
});

describe('instants', () => {
  it.each([[1_800_000_000_000, '2027-01-15T08:00:00Z'], [1e300, '1e+300'], [null, '-']])(
    'shows %s, whatever a server says',
    (at, text) => expect(instantOf({ at }, 'at')).toBe(text),
  );
});

describe('Fresh', () => {
  const entry = (id: string, at: number) => ({ id, at });

  it('shows every entry once, oldest first, late ones too', () => {
    const fresh = new Fresh([entry('b', 20_000), entry('a', 10_000)], 20_000);
    expect(fresh.sinceMs).toBe(15_000);
    const found = [entry('d', 21_000), entry('late', 19_000), entry('b', 20_000)];
    expect(fresh.take(found).map(({ id }) => id)).toEqual(['late', 'd']);
    expect(fresh.take(found)).toEqual([]);
    expect(fresh.sinceMs).toBe(16_000);
  });

  it.each([['nothing', []], ['what is old', [entry('a', 10_000)]]])(
    'begins at now where %s was there: older entries are no news',
    (_, there) => expect(new Fresh(there, 50_000).sinceMs).toBe(45_000),
  );
});

describe('the table of the log', () => {
  const row = { at: 0, outcome: 'granted', queuedMs: 0, slots: 1, address: '127.0.0.1' };
  const cells = (...rows: object[]) =>
    tableOf(rows.map((more) => ({ ...row, ...more })), COLUMNS)
      .map((line) => line.split(/ {2,}/).slice(-3));

  it('tells of a proxied call what it asked, the answer of the upstream and the credential', () => {
    const proxied = { method: 'GET', path: '/v1/models', upstreamStatus: 401, credential: 'a' };
    const unsent = { method: 'PUT', path: '/x', upstreamStatus: null, credential: null };
    expect(cells({ holder: 'w-1' }, { holder: null, ...proxied }, { holder: null, ...unsent }))
      .toEqual([
        ['UPSTREAM', 'CREDENTIAL', 'HOLDER OR REQUEST'],
        ['-', '-', 'w-1'],
        ['401', 'a', 'GET /v1/models'],
        ['-', '-', 'PUT /x'],
      ]);
  });

  it('tells how many refusals a summary row stands for', () => {
    const [titles = '', ...lines] = tableOf([row, { ...row, outcome: 'x', count: 560 }], COLUMNS);
    const at = titles.indexOf('COUNT');
    expect(lines.map((line) => line.slice(at, at + 5))).toEqual(['    -', '  560']);
  });

  it('stands in the same columns whatever else is printed with a row', () => {
    const rows = [{ ...row, reason: 'credentials' }, { ...row, method: 'GET', path: '/' }];
    const titles = tableOf([], COLUMNS);
    const apart = rows.flatMap((one) => tableOf([one], COLUMNS).slice(1));
    expect([...titles, ...apart]).toEqual(tableOf(rows, COLUMNS));
  });
});

describe('docs/console.md', () => {
  it('lists every exit code, and no other', () => {
    const table = readFileSync('docs/console.md', 'utf8').split('<!-- exit codes -->')[1] ?? '';
    const listed = [...table.matchAll(/^\| (\d+)\s+\|/gm)].map((row) => Number(row[1]));
    expect(listed).toEqual(Object.values(EXIT).sort((a, b) => a - b));
  });
});
