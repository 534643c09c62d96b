/**
 * The configuration file of pools (`--config`): read and checked as a whole before anything is
 * touched, applied all or nothing. The file owns the pools that it names.
 */
import { z } from 'zod';
import { keyRow } from '../access/keys.ts';
import { hashOf } from '../access/keys.ts';
import type { Directory } from '../scheduler/directory.ts';
import type { KeyRow } from '../store/store.ts';
import { issuesOf, PoolSpec } from '../wire.ts';
import { messageOf } from '../log.ts';

const hash = z.string().regex(/^(sha256:)?[0-9a-f]{64}$/, 'must be a hex SHA-256')
  .transform((text) => text.replace('sha256:', ''));
const FileKey = z.strictObject({
  name: z.string().min(1).max(128),
  hash: hash.optional(),
  env: z.string().min(1).optional(),
}).refine(
  (key) => (key.hash === undefined) !== (key.env === undefined),
  'exactly one of hash and env is wanted',
);
const PoolFile = z.strictObject({
  /** For editors: the JSON Schema that the file follows. */
  $schema: z.string().optional(),
  pools: z.array(z.looseObject({ keys: z.array(FileKey).default([]) })).max(10_000),
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
  readonly keys: readonly { readonly name: string; readonly hash: string }[];
}

/** Bad contents of a configuration file, in one sentence. */
export class PoolFileError extends Error {
  override name = 'PoolFileError';
}

/** Reads and checks the file. @throws PoolFileError */
export async function readPoolFile(path: string): Promise<FilePool[]> {
  let json: unknown;
  try {
    json = JSON.parse(await Deno.readTextFile(path));
  } catch (error) {
    throw new PoolFileError(`${path}: ${messageOf(error)}`);
  }
  const { pools } = checked(PoolFile, json, path);
  const seen = new Set<string>();
  return pools.map(({ keys, ...rest }, index) => {
    const spec = checked(PoolSpec, rest, `${path}: pools.${index}`);
    if (seen.has(spec.name)) throw new PoolFileError(`${path}: pool ${spec.name} is named twice`);
    seen.add(spec.name);
    return { spec, keys: keys.map((key) => ({ name: key.name, hash: keyHash(key, path) })) };
  });
}

/** Brings the directory to what the file says. Pools that it names no more stay, unmanaged. */
export async function applyPoolFile(
  directory: Directory,
  pools: readonly FilePool[],
  nowMs: number,
): Promise<void> {
  const named = new Set(pools.map(({ spec }) => spec.name));
  await directory.inTurn(async () => {
    for (const entry of directory.list()) {
      if (entry.isManaged && !named.has(entry.spec.name)) await directory.put(entry.spec, false);
    }
    for (const { spec, keys } of pools) {
      const entry = await directory.put(spec, true);
      const wanted = new Set(keys.map((key) => key.hash));
      const known = new Set(entry.keys.rows().map((row) => row.hash));
      for (const row of entry.keys.rows()) {
        if (!wanted.has(row.hash)) await directory.removeKey(entry, row.id);
      }
      const fresh = keys.filter((key) => !known.has(key.hash));
      await directory.addKeys(entry, fresh.map((key) => rowOf(key, spec.name, nowMs)));
    }
  });
}

function rowOf(key: { name: string; hash: string }, pool: string, nowMs: number): KeyRow {
  const facts = { pool, name: key.name, createdAt: nowMs, expiresAt: null, lastUsedAt: null };
  // The file knows the hash alone, so there are no first characters to show.
  return { ...keyRow('', { id: `key_${crypto.randomUUID()}`, ...facts }), hash: key.hash };
}

function keyHash(key: z.output<typeof FileKey>, path: string): string {
  if (key.hash !== undefined) return key.hash;
  const value = Deno.env.get(key.env ?? '');
  if (!value) throw new PoolFileError(`${path}: key ${key.name}: ${key.env} is not set`);
  return hashOf(value);
}

function checked<T>(schema: z.ZodType<T>, value: unknown, where: string): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = issuesOf(result.error);
  throw new PoolFileError(`${where}: ${issue?.path || 'file'}: ${issue?.reason}`);
}
