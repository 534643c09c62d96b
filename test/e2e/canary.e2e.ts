/** That the search for secrets, which ends every end-to-end test file, finds them. */
import { EventEmitter } from 'node:events';
import type { ChildProcess } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { freshKey } from '../../src/access/keys.ts';
import { folder } from '../store/samples.ts';
import { canary, findings, searchAnswer, searched, searchFolder, watch } from './canary.ts';
import { endAll } from './process.ts';
import { startServer } from './server.ts';

const SECRET = canary('planted');
const SLOT = 'abcdefghijklmnopqrstuvwx';
afterEach(() => void findings.splice(0));

function printed(text: string): void {
  const child = Object.assign(new EventEmitter(), {
    stdout: new EventEmitter(),
    stderr: new EventEmitter(),
  });
  watch(child as unknown as ChildProcess, ['serve']);
  child.stderr.emit('data', text.slice(0, 30));
  child.stderr.emit('data', text.slice(30));
  child.emit('exit');
  child.emit('close');
}

describe('the search for secrets', () => {
  const key = freshKey();
  searchAnswer('POST', '/pools/p/lock/acquire', JSON.stringify({ slotId: SLOT }));

  it.each([
    ['a secret', `a line with ${SECRET} in it`],
    ['a pool key', `a line with ${key} in it`],
    ['a slotId', `a line with ${SLOT} in it`],
    ...[0, 1, 2].map((before) => [
      `base64, ${before} bytes in`,
      Buffer.from(`${'k'.repeat(before)}${SECRET}`).toString('base64'),
    ]),
    ['hex', `a line with ${Buffer.from(SECRET).toString('hex')}`],
  ])('finds %s in what is printed and on a page', (_, text = '') => {
    printed(text);
    searchAnswer('GET', '/admin/pools', text);
    expect(findings).toHaveLength(2);
  });

  it('finds secrets and the contents of key files in a database', () => {
    const path = folder();
    const generated = 'f'.repeat(64);
    writeFileSync(join(path, 'master-key'), `${generated}\n`);
    writeFileSync(join(path, 'n.db'), `x${generated}y`);
    writeFileSync(join(path, 'n.db-wal'), `x${SECRET}y${key}`);
    searchFolder(path);
    expect(findings).toHaveLength(2);
  });

  it('lets a key be shown where it is made, and the prefix of one anywhere', () => {
    printed(`first start: made the pool "default" and a key: ${key}\ntry it: curl ${key}\n`);
    searchAnswer('POST', '/admin/api/pools/p/keys', key);
    searchAnswer('GET', '/admin/api/pools/p/keys', key.slice(0, 12));
    expect(findings).toEqual([]);
  });

  it('looks at the output, the answers and the files of a real server', async () => {
    const before = { ...searched };
    const server = await startServer();
    const pool = await server.pool('p');
    await pool.hold();
    await server.stop();
    await endAll();
    expect(searched.outputs).toBeGreaterThan(before.outputs);
    expect(searched.answers).toBeGreaterThan(before.answers + 1);
    expect(searched.files).toBeGreaterThan(before.files);
  });
});
