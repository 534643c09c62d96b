import { describe, expect, it } from 'vitest';
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { exitOf } from '../../src/cli/store_exit.ts';
import { EXIT } from '../../src/cli/command.ts';
import { LibsqlStore } from '../../src/store/libsql.ts';
import { storeError } from '../../src/store/libsql/store_error.ts';

const coded = (code: string) => Object.assign(new Error('no'), { code });

describe('what ends a command', () => {
  it.each(['SQLITE_BUSY', 'SQLITE_FULL', 'SQLITE_IOERR_WRITE', 'ENOSPC', 'EDQUOT', 'EMFILE'])(
    '%s may pass: a later start may do',
    (code) => expect(exitOf(storeError(coded(code)))).toBe(EXIT.failed),
  );

  it.each(['EACCES', 'EROFS', 'EISDIR', 'SQLITE_CANTOPEN', 'SQLITE_READONLY_DIRECTORY'])(
    '%s does not pass by itself',
    (code) => {
      const error = new Error('outer', { cause: coded(code) });
      expect(exitOf(storeError(error))).toBe(EXIT.database);
    },
  );

  it.each([[401, EXIT.database], [503, EXIT.failed]])(
    'a remote database that answers %i is told by %i',
    async (status, exit) => {
      const remote = createServer((_, answer) => answer.writeHead(status).end('no'));
      await once(remote.listen(0, '127.0.0.1'), 'listening');
      const { port } = remote.address() as AddressInfo;
      const url = `http://127.0.0.1:${port}`;
      const store = new LibsqlStore({ url, owner: 'o1', sleep: () => Promise.resolve() });
      const error = await store.open().then(() => null, (failure) => failure);
      expect(exitOf(error)).toBe(exit);
      remote.closeAllConnections();
      remote.close();
    },
  );
});
