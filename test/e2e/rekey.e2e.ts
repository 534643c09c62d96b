/** `rekey` killed at any moment loses nothing: one key opens all, and a next run ends it. */
import { existsSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect, test } from 'vitest';
import { Vault } from '../../src/access/vault.ts';
import { PoolSpec } from '../../src/wire.ts';
import { folder, libsqlAt } from '../store/samples.ts';
import { canary } from './canary.ts';
import { sleep, sources, start } from './process.ts';

const POOLS = 400;
const KILLS = 8;
const SECRET = canary('hmac-secret');
const NAMES = ['master-key', 'master-key.next'];

/** A database whose pools have secrets, and its key file. */
async function sealed(path: string): Promise<void> {
  const key = 'the first master key of this test: 0123456789';
  writeFileSync(join(path, 'master-key'), `${key}\n`);
  const vault = new Vault(key);
  const store = libsqlAt(join(path, 'n.db'));
  await store.open();
  await store.savePools(Array.from({ length: POOLS }, (_, at) => {
    const spec = PoolSpec.parse({ name: `p${at}`, access: { hmac: { secrets: [SECRET] } } });
    const settings = vault.sealSettings(spec.name, spec);
    return { name: spec.name, settings, createdAt: 0, isManaged: false, pause: null };
  }));
  await store.close();
}

/** The key files that open every secret of the database. */
async function fits(path: string): Promise<string[]> {
  const program = sources('test/e2e/keys_that_open.ts');
  const files = NAMES.map((name) => join(path, name));
  const { out, ...rest } = await start([join(path, 'n.db'), SECRET, ...files], {}, { program })
    .finished;
  expect(rest).toMatchObject({ code: 0, err: '' });
  const { count, fitting } = JSON.parse(out) as { count: number; fitting: string[] };
  expect(count).toBe(POOLS);
  return fitting.map((file) => basename(file));
}

test('rekey that is killed leaves all under one key, and is ended by the next run', async () => {
  const path = folder();
  const rekey = () => start(['rekey', '--db', `file:${path}/n.db`]);
  await sealed(path);
  expect(await fits(path)).toEqual(['master-key']);
  const { code, tookMs } = await rekey().finished;
  expect(code).toBe(0);
  expect(await fits(path)).toEqual(['master-key']);
  let killed = 0;
  for (let at = 0; at < KILLS; at++) {
    const { process, finished } = rekey();
    // The first part of a run only loads the program.
    await sleep(tookMs * (0.4 + 0.6 * at / KILLS));
    process.kill('SIGKILL');
    if ((await finished).code === null) killed++;
    expect(await fits(path)).toHaveLength(1);
  }
  expect(killed).toBeGreaterThan(0);
  expect(await rekey().finished).toMatchObject({ code: 0, err: '' });
  expect(await fits(path)).toEqual(['master-key']);
  expect(existsSync(join(path, 'master-key.next'))).toBe(false);
}, 120_000);

test('a rekey that is refused leaves no key behind', async () => {
  const path = folder();
  await sealed(path);
  const db = ['--db', `file:${path}/n.db`];
  const server = start(['serve', '--port', '0', ...db]);
  await server.listening();
  expect((await start(['rekey', ...db]).finished).code).toBe(3);
  expect(existsSync(join(path, 'master-key.next'))).toBe(false);
  await server.stop();
  const other = { NTHBOUNCER_MASTER_KEY: 'another master key than it was: 0123456789' };
  expect((await start(['rekey', ...db], { ...other, NTHBOUNCER_NEW_MASTER_KEY: '' }).finished).code)
    .toBe(2);
  writeFileSync(join(path, 'master-key'), `${other.NTHBOUNCER_MASTER_KEY}\n`);
  expect((await start(['rekey', ...db]).finished).code).toBe(4);
  expect(existsSync(join(path, 'master-key.next'))).toBe(false);
}, 60_000);

test('a rekey that broke off is named where the server does not start, and goes on', async () => {
  const path = folder();
  await sealed(path);
  const db = ['--db', `file:${path}/n.db`];
  const next = 'the next master key of this test: 0123456789';
  const { code } = await start(['rekey', ...db], { NTHBOUNCER_NEW_MASTER_KEY: next }).finished;
  expect(code).toBe(0);
  // As it is where the run ends between the database and the key file.
  writeFileSync(join(path, 'master-key'), 'the first master key of this test: 0123456789\n');
  writeFileSync(join(path, 'master-key.next'), `${next}\n`);
  expect(await fits(path)).toEqual(['master-key.next']);
  const served = await start(['serve', '--port', '0', ...db]).finished;
  expect(served).toMatchObject({
    code: 4,
    err: expect.stringMatching(/broke off: run it again\n$/),
  });
  expect((await start(['rekey', ...db]).finished).code).toBe(0);
  expect(await fits(path)).toEqual(['master-key']);
}, 30_000);
