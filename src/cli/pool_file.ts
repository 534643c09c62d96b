/**
 * The configuration file of pools (`--config`): read and checked as a whole before anything is
 * touched, applied all or nothing. The file owns the pools that it names.
 */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { hashOf, keyRow } from '../access/keys.ts';
import { mapSecrets } from '../access/secret_fields.ts';
import { CEILINGS } from '../ceilings.ts';
import { protoPath } from '../json.ts';
import { DirectoryFullError } from '../scheduler/directory.ts';
import type { Directory, Entry, PoolChange } from '../scheduler/directory.ts';
import { checkHosts, HostTakenError } from '../scheduler/pool_hosts.ts';
import type { KeyRow } from '../store/store.ts';
import { issuesOf, NO_FIELD, PoolSpec } from '../wire.ts';
import { log, messageOf } from '../log.ts';
import { isOneWord, ONE_WORD } from './one_word.ts';

const hash = z.string().regex(/^(sha256:)?[0-9a-f]{64}$/, 'must be a hex SHA-256')
  .transform((text) => text.replace('sha256:', ''));
/** What the system takes for one; of any other it says only that it is none. */
const variable = z.string().regex(/^[^=\p{Cc}]+$/u, 'must be the name of a variable');
const FileKey = z.strictObject({
  name: z.string().min(1).max(128),
  hash: hash.optional(),
  env: variable.optional(),
}).refine(
  (key) => (key.hash === undefined) !== (key.env === undefined),
  'exactly one of hash and env is wanted',
);
const SecretSource = z.strictObject({
  env: variable.optional(),
  file: z.string().min(1).optional(),
}).refine(({ env, file }) => (env === undefined) !== (file === undefined));
const PoolFile = z.strictObject({
  /** For editors: the JSON Schema that the file follows. */
  $schema: z.string().optional(),
  pools: z.array(
    z.looseObject({ keys: z.array(FileKey).max(CEILINGS.keysOfPool).default([]) }),
  ).max(CEILINGS.pools),
});

/** The JSON Schema of the file, for editors. */
export function configSchema(): Readonly<Record<string, unknown>> {
  const shape = z.strictObject({
    ...PoolFile.shape,
    pools: z.array(PoolSpec.extend({ keys: z.array(FileKey).default([]) })).max(10_000),
  });
  return {
    title: 'nthbouncer --config',
    ...z.toJSONSchema(shape, { io: 'input', unrepresentable: 'any' }),
  };
}

export interface FilePool {
  readonly spec: PoolSpec;
  readonly keys: readonly {
    readonly name: string;
    readonly hash: string;
    /** Whether it could be guessed; of a hash nobody can say. */
    readonly isShort: boolean;
  }[];
}

/** A key that is shorter is warned about: 128 bits in hex. */
const KEY_LENGTH_MIN = 32;

/** So many are read before others get a turn: some ms. */
const POOLS_A_TURN = 200;

/** Bad contents of a configuration file, in one sentence. */
export class PoolFileError extends Error {
  override name = 'PoolFileError';
}

/**
 * Reads and checks the file.
 * @param baseDomain of this server: no pool can have it for a host.
 * @throws PoolFileError
 */
export async function readPoolFile(path: string, baseDomain: string): Promise<FilePool[]> {
  let json: unknown;
  try {
    json = JSON.parse(await Deno.readTextFile(path));
  } catch (error) {
    // The runtime quotes what stands around a mistake, which may be a secret.
    throw new PoolFileError(`${path}: ${messageOf(error).replace(/, (\.{3})?".*"/s, '')}`);
  }
  const proto = protoPath(json);
  if (proto !== null) throw new PoolFileError(`${path}: ${proto}: ${NO_FIELD}`);
  const { pools } = checked(PoolFile, json, path);
  const names = new Set<string>();
  const read: FilePool[] = [];
  for (const [index, pool] of pools.entries()) {
    // Nothing is changed yet, so that others may be answered while a long file is read.
    if (index % POOLS_A_TURN === POOLS_A_TURN - 1) await loopTurn();
    const filed = filePool(pool, path, index);
    if (names.has(filed.spec.name)) {
      throw new PoolFileError(`${path}: pool ${filed.spec.name} is named twice`);
    }
    names.add(filed.spec.name);
    read.push(filed);
  }
  try {
    checkHosts(read.map(({ spec }) => spec), { baseDomain });
  } catch (error) {
    throw new PoolFileError(`${path}: ${messageOf(error)}`);
  }
  return read;
}

function filePool(
  { keys, ...rest }: z.output<typeof PoolFile>['pools'][number],
  path: string,
  index: number,
): FilePool {
  const where = `${path}: pools.${index}`;
  const resolved = mapSecrets(rest, (secret, field) => secretOf(secret, `${where}: ${field}`));
  const spec = checked(PoolSpec, resolved, where);
  const hashed = keys.map((key) => fileKey(key, path));
  if (new Set(hashed.map((key) => key.hash)).size < hashed.length) {
    throw new PoolFileError(`${path}: pool ${spec.name} has one key twice`);
  }
  return { spec, keys: hashed };
}

function loopTurn(): Promise<void> {
  return new Promise((turned) => setTimeout(turned, 0));
}

/**
 * Brings the directory to what the file says. Pools that it names no more stay, unmanaged.
 * @throws PoolFileError before anything is changed, where the pools cannot stand together.
 */
export async function applyPoolFile(
  directory: Directory,
  pools: readonly FilePool[],
  nowMs: number,
): Promise<void> {
  const named = new Set(pools.map(({ spec }) => spec.name));
  await directory.inTurn(async () => {
    const taken = pools.flatMap((pool) => takenOver(directory.get(pool.spec.name), pool));
    const left = directory.list().filter((entry) => entry.isManaged && !named.has(entry.spec.name));
    await directory.putAll([
      ...left.map(({ spec }) => ({ spec, isManaged: false })),
      ...pools.flatMap((pool) => changeTo(pool, directory.get(pool.spec.name), nowMs)),
    ]).catch(refuseFile);
    if (taken.length > 0) {
      log.warn('the configuration file takes over what was not its own: {pools}', {
        pools: taken.join('; '),
      });
    }
    for (const pool of pools) warnOfShortKeys(pool);
  });
}

/** What the file changes of a pool; nothing where it is as the file says. */
function changeTo(
  { spec, keys }: FilePool,
  entry: Entry | undefined,
  nowMs: number,
): PoolChange[] {
  const known = new Map(entry?.keys.rows().map((row) => [row.hash, row]));
  const rows = keys.map((key) => rowOf(key, known.get(key.hash), { pool: spec.name, nowMs }));
  const hasKeys = rows.length === known.size && rows.every((row) => known.get(row.hash) === row);
  const isSame = hasKeys && entry?.isManaged === true && isDeepStrictEqual(entry.spec, spec);
  return isSame ? [] : [{ spec, isManaged: true, keys: rows }];
}

/** A pool that was not the file's, and what it loses by the file, in words. */
function takenOver(entry: Entry | undefined, { spec, keys }: FilePool): string[] {
  if (entry === undefined || entry.isManaged) return [];
  const wanted = new Set(keys.map(({ hash }) => hash));
  const values = new Set(spec.upstream?.credentials.map(({ value }) => value));
  const lost = [
    ['key', entry.keys.rows().filter(({ hash }) => !wanted.has(hash))],
    [
      'credential',
      entry.spec.upstream?.credentials.filter(({ value }) => !values.has(value)) ?? [],
    ],
  ] as const;
  const words = lost.filter(([, { length }]) => length > 0)
    .map(([what, { length }]) => `${length} ${what}${length === 1 ? '' : 's'}`);
  return [`pool ${spec.name} loses ${words.join(' and ') || 'no key and no credential'}`];
}

function warnOfShortKeys({ spec, keys }: FilePool): void {
  for (const weak of keys.filter(({ isShort }) => isShort)) {
    log.warn('the key {key} of pool {pool} is shorter than {least} characters: too weak', {
      key: weak.name,
      pool: spec.name,
      least: KEY_LENGTH_MIN,
    });
  }
}

function refuseFile(error: unknown): never {
  if (error instanceof DirectoryFullError || error instanceof HostTakenError) {
    throw new PoolFileError(error.message);
  }
  throw error;
}

/** A key of the file has its name there and never expires, whoever made it. */
function rowOf(
  { name, hash }: FilePool['keys'][number],
  known: KeyRow | undefined,
  { pool, nowMs }: { pool: string; nowMs: number },
): KeyRow {
  if (known?.name === name && known.expiresAt === null) return known;
  if (known !== undefined) return { ...known, name, expiresAt: null };
  const facts = { pool, name, createdAt: nowMs, expiresAt: null, lastUsedAt: null };
  // The file knows the hash alone, so there are no first characters to show.
  return { ...keyRow('', { id: `key_${crypto.randomUUID()}`, ...facts }), hash };
}

function fileKey({ name, hash, env }: z.output<typeof FileKey>, path: string) {
  if (hash !== undefined) return { name, hash, isShort: false };
  const where = `${path}: key ${name}`;
  const value = valueOf(env ?? '', where);
  if (!isOneWord(value)) throw new PoolFileError(`${where}: ${env} ${ONE_WORD}`);
  return { name, hash: hashOf(value), isShort: value.length < KEY_LENGTH_MIN };
}

function valueOf(env: string, where: string): string {
  const value = Deno.env.get(env);
  if (!value) throw new PoolFileError(`${where}: ${env} is not set`);
  return value;
}

/** A secret of the file is named, not written: `{"env": NAME}` or `{"file": PATH}`. */
function secretOf(source: unknown, where: string): string {
  const named = SecretSource.safeParse(source);
  if (!named.success) {
    throw new PoolFileError(`${where}: {"env": NAME} or {"file": PATH} is wanted`);
  }
  const { env, file } = named.data;
  if (env !== undefined) {
    const value = valueOf(env, where);
    // Nobody who signs with the secret, or reads it from a file, has it.
    if (/[\r\n]$/.test(value)) throw new PoolFileError(`${where}: ${env} ends in a line end`);
    return value;
  }
  try {
    return Deno.readTextFileSync(file ?? '').replace(/\r?\n$/, '');
  } catch (error) {
    throw new PoolFileError(`${where}: ${messageOf(error)}`);
  }
}

function checked<T>(schema: z.ZodType<T>, value: unknown, where: string): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = issuesOf(result.error);
  const place = [where, issue?.path].filter(Boolean).join(': ');
  throw new PoolFileError(`${place}: ${issue?.reason}`);
}
