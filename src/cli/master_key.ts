/**
 * The master key: taken from the environment, or from a file beside the database that is made at
 * the first start. A key that is gone or wrong must never be replaced while something is sealed
 * under it: that is told in one line, and nothing is changed.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { hasSecrets, MASTER_KEY_LENGTH_MIN, Vault, VaultError } from '../access/vault.ts';
import { messageOf } from '../log.ts';
import type { StoredPool } from '../store/store.ts';
import { EXIT, Stop } from './command.ts';
import { databaseFolder } from './database.ts';
import { writeWhole } from './sync.ts';

const VARIABLE = 'NTHBOUNCER_MASTER_KEY';
const FILE = 'master-key';

/** A key of the environment, or null; checked before anything is touched. */
export function masterKeyOfEnvironment(variable: string = VARIABLE): string | null {
  const key = Deno.env.get(variable);
  if (key === undefined) return null;
  if (key.length < MASTER_KEY_LENGTH_MIN) {
    const wanted = `at least ${MASTER_KEY_LENGTH_MIN} characters are wanted`;
    throw new Stop(EXIT.usage, `${variable} is too short: ${wanted}, ${key.length} came`);
  }
  return key;
}

/** The vault that opens the secrets of all pools. @throws Stop where it does not. */
export async function vaultFor(
  databaseUrl: string,
  { environmentKey, pools }: { environmentKey: string | null; pools: readonly StoredPool[] },
): Promise<Vault> {
  const sealed = pools.filter(({ settings }) => hasSecrets(settings));
  const path = keyFileOf(databaseUrl);
  const key = environmentKey ?? await readKeyFile(path);
  if (key === null && sealed.length > 0) {
    throw new Stop(
      EXIT.database,
      `the master key is gone: neither ${VARIABLE} nor ${path} is there, and the secrets of ` +
        `${namesOf(sealed)} need it; nothing was changed`,
    );
  }
  const vault = new Vault(key ?? await makeKeyFile(path));
  const shut = sealed.filter((row) => !opens(vault, row));
  if (shut.length === 0) return vault;
  const hint = existsSync(pendingFileOf(path)) ? '; a rekey broke off: run it again' : '';
  throw new Stop(
    EXIT.database,
    `the master key of ${environmentKey === null ? path : VARIABLE} does not open the secrets ` +
      `of ${namesOf(shut)}; nothing was changed${hint}`,
  );
}

export function keyFileOf(databaseUrl: string): string {
  return join(databaseFolder(databaseUrl) ?? '.', FILE);
}

export function opens(vault: Vault, { name, settings }: StoredPool): boolean {
  try {
    vault.openSettings(name, settings);
    return true;
  } catch (error) {
    if (error instanceof VaultError) return false;
    throw error;
  }
}

/** The key in the file; null where there is no file. */
export async function readKeyFile(path: string): Promise<string | null> {
  let key: string;
  try {
    key = (await Deno.readTextFile(path)).trim();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw new Stop(EXIT.database, `${path}: ${messageOf(error)}`);
  }
  if (key.length >= MASTER_KEY_LENGTH_MIN) return key;
  throw new Stop(EXIT.database, `${path}: holds no master key; nothing was changed`);
}

/** Makes a key of 256 random bits in a file that only its owner reads, and returns it. */
export async function makeKeyFile(path: string): Promise<string> {
  const bytes = crypto.getRandomValues(new Uint8Array(32));
  const key = [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  await writeKeyFile(path, key);
  return key;
}

/** Puts the key in the file before anything can be sealed under it. */
export async function writeKeyFile(path: string, key: string): Promise<void> {
  await writeWhole(path, `${key}\n`);
}

/** Where `rekey` keeps the key that comes until all is sealed under it. */
export function pendingFileOf(keyFile: string): string {
  return `${keyFile}.next`;
}

function namesOf(pools: readonly StoredPool[]): string {
  const shown = pools.slice(0, 10).map(({ name }) => name).join(', ');
  const more = pools.length > 10 ? ` and ${pools.length - 10} more` : '';
  return `${pools.length === 1 ? 'pool' : 'pools'} ${shown}${more}`;
}
