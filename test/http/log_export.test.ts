/** The access log as a file, and the page of it, where a page may be empty and others follow. */
import { describe, expect, it } from 'vitest';
import { LogAnswer } from '../../src/answers.ts';
import type { LogPage, LogQuery } from '../../src/store/store.ts';
import { batch, entry } from '../store/samples.ts';
import { TestServer } from '../support/server.ts';

async function opened() {
  const test = await TestServer.start();
  await test.openPool('p1');
  const id = await test.server.desk.sessions.open(test.clock.nowMs());
  const headers = { cookie: `nthbouncer=${id}` };
  const ask = (path: string) => test.call(`/admin/pools/p1/log${path}`, { headers });
  return { test, ask };
}

/** Answers each reading of the log by its place in the row of them. */
function readBy(test: TestServer, page: (query: LogQuery, at: number) => LogPage): void {
  let at = 0;
  test.store.readLog = (query: LogQuery) => Promise.resolve(page(query, at++));
}

describe('the export of the log', () => {
  it('refuses what is asked amiss before it begins, and comes whole', async () => {
    const { test, ask } = await opened();
    for (const query of ['minutes=1e300', 'minutes=0.5', 'outcome=nothing']) {
      expect((await ask(`/export.csv?${query}`)).status).toBeGreaterThanOrEqual(400);
    }
    const rows = Array.from(
      { length: 2_500 },
      (_, id) => entry((id + 1).toString(36), { pool: 'p1' }),
    );
    await test.store.commit(batch({ entries: rows }));
    const whole = await (await ask('/export.csv?cursor=1')).text();
    const [, ...lines] = whole.trimEnd().split('\r\n');
    expect(lines).toHaveLength(rows.length);
    expect(new Set(lines).size).toBe(rows.length);
  });

  it('counts rows and not pages, of which most may be empty', async () => {
    const { test, ask } = await opened();
    readBy(test, (_, at) => ({
      entries: at % 50 === 0 ? [entry(`e${at}`, { pool: 'p1' })] : [],
      nextCursor: at === 250 ? null : String(1000 - at),
    }));
    const lines = (await (await ask('/export.jsonl?keyId=k1')).text()).trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line).id))
      .toEqual(['e0', 'e50', 'e100', 'e150', 'e200', 'e250']);
  });

  it.each(['csv', 'jsonl'])('ends as %s with 100 000 rows, and says so', async (form) => {
    for (const hasMore of [true, false]) {
      const { test, ask } = await opened();
      readBy(test, ({ limit }, at) => ({
        entries: Array.from({ length: at === 0 ? 400 : limit }, () => entry('e', { pool: 'p1' })),
        nextCursor: hasMore || at < 100 ? String(1000 - at) : null,
      }));
      const text = await (await ask(`/export.${form}`)).text();
      const lines = text.trimEnd().split('\n').slice(form === 'csv' ? 1 : 0);
      expect(lines).toHaveLength(hasMore ? 100_001 : 100_000);
      expect(lines.at(-1)?.includes('Cut here: an export has 100000 rows at most')).toBe(hasMore);
    }
  });

  it('has a column for each field of a row', async () => {
    const { ask } = await opened();
    const [columns = ''] = (await (await ask('/export.csv')).text()).split('\r\n');
    const fields = Object.keys(LogAnswer.shape.entries.element.shape);
    expect(columns.split(',').toSorted()).toEqual(fields.toSorted());
  });
});

describe('the page of the log', () => {
  it('says of an empty page whether older attempts may match', async () => {
    const { test, ask } = await opened();
    for (const nextCursor of ['7', null]) {
      readBy(test, () => ({ entries: [], nextCursor }));
      const page = await (await ask('?outcome=granted')).text();
      expect(page.includes('older ones may')).toBe(nextCursor !== null);
      expect(page.includes('cursor=7')).toBe(nextCursor !== null);
    }
  });
});
