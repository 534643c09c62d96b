/**
 * The admin token: taken from the environment, or made at the first start. Only its hash is kept;
 * the token itself is told once, on a terminal or in a file that only its owner reads.
 */
import { join } from 'node:path';
import { hashOf } from '../access/keys.ts';
import { ADMIN_TOKEN_LENGTH_MIN } from '../config.ts';
import type { Store } from '../store/store.ts';
import { EXIT, print, Stop } from './command.ts';
import { databaseFolder } from './database.ts';
import { oneWord } from './one_word.ts';
import { writeWhole } from './sync.ts';

const VALUE = 'admin_token_hash';
const VARIABLE = 'NTHBOUNCER_ADMIN_TOKEN';
const METRICS_VARIABLE = 'NTHBOUNCER_METRICS_TOKEN';

/** The hash of the token in the environment, or null; checked before anything is touched. */
export function adminHashOfEnvironment(): string | null {
  const token = oneWord(Deno.env.get(VARIABLE), VARIABLE);
  if (token === null) return null;
  if (token.length < ADMIN_TOKEN_LENGTH_MIN) {
    const wanted = `at least ${ADMIN_TOKEN_LENGTH_MIN} characters are wanted`;
    throw new Stop(EXIT.usage, `${VARIABLE} is too short: ${wanted}, ${token.length} came`);
  }
  return hashOf(token);
}

/** The hash of the token that opens the metrics alone, or null. */
export function metricsHashOfEnvironment(): string | null {
  const token = oneWord(Deno.env.get(METRICS_VARIABLE), METRICS_VARIABLE);
  return token === null ? null : hashOf(token);
}

/** The stored hash; makes, stores and tells a token where there is none. */
export async function adminHashOfStore(store: Store, databaseUrl: string): Promise<string> {
  return await store.readValue(VALUE) ?? await resetAdminToken(store, databaseUrl);
}

/** Makes a new token in place of any other, and tells it. Returns its hash. */
export async function resetAdminToken(store: Store, databaseUrl: string): Promise<string> {
  const token = freshToken();
  const hash = hashOf(token);
  if (Deno.stdout.isTerminal()) {
    await store.saveValue(VALUE, hash);
    print(`admin token (shown once): ${token}`);
    return hash;
  }
  const path = join(databaseFolder(databaseUrl) ?? '.', 'admin-token');
  // The file comes first: where it cannot be written, a hash in force would lock everybody out.
  await writeWhole(path, `${token}\n`);
  await store.saveValue(VALUE, hash);
  print(`admin token written to ${path}`);
  return hash;
}

/** 256 random bits. */
function freshToken(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(32));
  return `nb_admin_${[...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}
