/**
 * Prints which of the key files named after a database and a secret open that very secret in all
 * its pools; run as a process of its own, in which no test library may be loaded. A process that
 * opens a database again looks at its file anew, which drops the locks that SQLite counts on where
 * an earlier connection waits for the garbage collector.
 */
import { existsSync, readFileSync } from 'node:fs';
import { Vault } from '../../src/access/vault.ts';
import { opens } from '../../src/cli/master_key.ts';
import { LibsqlStore } from '../../src/store/libsql.ts';

const [path = '', secret = '', ...keyFiles] = Deno.args;
const store = new LibsqlStore({
  url: `file:${path}`,
  owner: 'test',
  lock: () => Promise.resolve(true),
  sleep: () => Promise.resolve(),
});
const { pools } = await store.open();
await store.close();
const fitting = keyFiles.filter((file) => {
  if (!existsSync(file)) return false;
  const vault = new Vault(readFileSync(file, 'utf8').trim());
  return pools.every((row) =>
    opens(vault, row) && JSON.stringify(vault.openSettings(row.name, row.settings)).includes(secret)
  );
});
console.log(JSON.stringify({ count: pools.length, fitting }));
