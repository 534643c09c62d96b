/** A database on a libSQL server: what its errors say of where it is. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { LibsqlStore } from '../../src/store/libsql.ts';

interface Ask {
  readonly type: string;
  readonly stmt?: { readonly sql: string };
}

/** A server whose database holds one table, of another program. */
const server = createServer(async (request, response) => {
  const { requests = [] } = JSON.parse(await text(request) || '{}') as { requests?: Ask[] };
  const results = requests.map(({ type, stmt }) => {
    const isList = stmt?.sql.startsWith('SELECT name') === true;
    const result = {
      cols: [{ name: 'name' }],
      rows: isList ? [[{ type: 'text', value: 'widget' }]] : [],
      affected_row_count: 0,
      last_insert_rowid: null,
    };
    return { type: 'ok', response: type === 'execute' ? { type, result } : { type } };
  });
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify({ baton: null, base_url: null, results }));
});

beforeAll(() => new Promise<void>((done) => server.listen(0, '127.0.0.1', done)));
afterAll(() => void server.close());

test('an error names the server of a database, and no token that its URL holds', async () => {
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}?authToken=very-secret`;
  const store = new LibsqlStore({ url, owner: 'me', sleep: () => Promise.resolve() });
  await expect(store.open()).rejects.toMatchObject({
    kind: 'foreign',
    message: `The database 127.0.0.1:${port} belongs to another program.`,
  });
});
