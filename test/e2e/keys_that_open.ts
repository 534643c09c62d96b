/**
 * Prints which of the key files named after a database open the secrets of all its pools; run as a
 * process of its own. A process that opens a database again looks at its file anew, which drops
 * the locks that SQLite counts on where an earlier connection waits for the garbage collector.
 */
import { existsSync, readFileSync } from 'node:fs';
import { hasSecrets, Vault } from '../../src/access/vault.ts';
import { opens } from '../../src/cli/master_key.ts';
import { LibsqlStore } from '../../src/store/libsql.ts';

const [path = '', ...keyFiles] = Deno.args;
const store = new LibsqlStore({
  url: `file:${path}`,
  owner: 'test',
  lock: () => Promise.resolve(true),
  sleep: () => Promise.resolve(),
});
const { pools } = await store.open();
await store.close();
const sealed = pools.filter(({ settings }) => hasSecrets(settings));
const fitting = keyFiles.filter((file) => {
  if (!existsSync(file)) return false;
  const vault = new Vault(readFileSync(file, 'utf8').trim());
  return sealed.every((row) => opens(vault, row));
});
console.log(JSON.stringify({ sealed: sealed.length, fitting }));
