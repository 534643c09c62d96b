/**
 * `nthbouncer rekey`: seals the secrets of all pools anew under another master key, for a database
 * that no server holds. All are stored in one step, so that one key, the old or the new, opens all
 * of them at any moment. A run that broke off is finished by running it again: what the new key
 * opens already is left as it is.
 */
import { hasSecrets, Vault } from '../access/vault.ts';
import type { PoolRow, StoredPool } from '../store/store.ts';
import type { Command } from './command.ts';
import { EXIT, print, Stop } from './command.ts';
import { openKnownDatabase } from './database.ts';
import {
  keyFileOf,
  makeKeyFile,
  masterKeyOfEnvironment,
  opens,
  pendingFileOf,
  readKeyFile,
  writeKeyFile,
} from './master_key.ts';
import { addSettings } from './settings.ts';
import { keepOwner, replaceFile } from './sync.ts';

const NEW_VARIABLE = 'NTHBOUNCER_NEW_MASTER_KEY';

export const rekeyCommand: Command = {
  add: (program) => {
    const command = program.command('rekey')
      .description('seal all secrets under a new master key; the server must be stopped');
    addSettings(command, ['db']).action((options: { db: string }) => rekey(options.db));
  },
};

async function rekey(databaseUrl: string): Promise<void> {
  const path = keyFileOf(databaseUrl);
  const environmentKey = masterKeyOfEnvironment();
  const newKey = masterKeyOfEnvironment(NEW_VARIABLE);
  const fileKey = environmentKey === null ? await readKeyFile(path) : null;
  const oldKey = environmentKey ?? fileKey;
  if (oldKey === null) {
    throw new Stop(
      EXIT.usage,
      `rekey: NTHBOUNCER_MASTER_KEY or ${path} with the old key is wanted`,
    );
  }
  if (newKey === null && environmentKey !== null) {
    throw new Stop(EXIT.usage, `rekey: ${NEW_VARIABLE} with the new key is wanted`);
  }
  const pending = pendingFileOf(path);
  const oldVault = new Vault(oldKey);
  const known = newKey ?? await readKeyFile(pending);
  const vaults = { oldVault, newVault: known === null ? null : new Vault(known) };
  const database = await openKnownDatabase(databaseUrl, {
    admit: (pools) => Promise.resolve(void dueRows(pools, vaults)),
  });
  try {
    const { due, count } = dueRows(database.snapshot.pools, vaults);
    // A fresh key is kept beside the old one until all is sealed under it.
    const newVault = new Vault(known ?? await makeKeyFile(pending));
    await database.store.savePools(due.map((row) => resealed(row, oldVault, newVault)));
    if (newKey === null) {
      await keepOwner(pending, path);
      await replaceFile(pending, path);
    } else {
      if (fileKey !== null) await writeKeyFile(path, newKey);
      await Deno.remove(pending).catch(() => {});
    }
    print(`sealed the secrets of ${count} pools anew`);
    print(fileKey === null ? 'start the server with the new key' : `the new key is in ${path}`);
  } finally {
    await database.store.close();
  }
}

/**
 * The pools that are still to be sealed anew, and how many have secrets at all. Every secret is
 * known to open before the first one is written, or the new key is.
 * @param vaults with no new one where its key is still to be made.
 */
function dueRows<Row extends StoredPool>(
  pools: readonly Row[],
  { oldVault, newVault }: { oldVault: Vault; newVault: Vault | null },
): { readonly due: Row[]; readonly count: number } {
  const sealed = pools.filter(({ settings }) => hasSecrets(settings));
  const due = sealed.filter((row) => newVault === null || !opens(newVault, row));
  const shut = due.filter((row) => !opens(oldVault, row)).map(({ name }) => name);
  if (shut.length > 0) {
    const line = `rekey: the old key does not open the secrets of ${shut.join(', ')}`;
    throw new Stop(EXIT.database, `${line}; nothing was changed`);
  }
  return { due, count: sealed.length };
}

function resealed(row: PoolRow, oldVault: Vault, newVault: Vault): PoolRow {
  const settings = oldVault.openSettings(row.name, row.settings) as object;
  return { ...row, settings: newVault.sealSettings(row.name, settings) };
}
