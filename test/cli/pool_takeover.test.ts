/** A configuration file that takes over pools of another hand warns of what they lose by it. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { applyPoolFile, readPoolFile } from '../../src/cli/pool_file.ts';
import { log } from '../../src/log.ts';
import { Door } from '../http/door.ts';

let text = '';
let told: string[] = [];

beforeEach(() => {
  told = [];
  vi.spyOn(log, 'warn').mockImplementation((...words: unknown[]) => {
    told.push((words[1] as { pools: string }).pools);
  });
  vi.stubGlobal('Deno', {
    readTextFile: () => Promise.resolve(text),
    env: { get: (name: string) => name === 'C' ? 'c' : undefined },
  });
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

const url = 'http://127.0.0.1:1';
const credential = (name: string, value: unknown = name) => ({ name, header: 'a', value });

it('warns of the pools that a file takes over, and of what they lose', async () => {
  const door = await Door.open();
  const apply = async (...pools: object[]) => {
    text = JSON.stringify({ pools });
    const { directory, scheduler } = door.server;
    await applyPoolFile(
      directory,
      await readPoolFile('pools.json', 'localhost'),
      scheduler.clock.nowMs(),
    );
  };
  await door.pool('mine');
  const credentials = ['a', 'b', 'c'].map((name) => credential(name));
  await door.admin('POST', '/pools', { name: 'llm', upstream: { url, credentials } });
  await apply({ name: 'b' });
  expect(told).toEqual([]);
  const llm = { name: 'llm', upstream: { url, credentials: [credential('kept', { env: 'C' })] } };
  await apply({ name: 'b' }, llm, { name: 'mine' }, { name: 'new' });
  const lost = 'pool llm loses 2 credentials; pool mine loses 1 key';
  expect(told).toEqual([lost]);
  await apply({ name: 'b' }, llm, { name: 'mine' }, { name: 'new' });
  expect(told).toEqual([lost]);
  await apply();
  await apply({ name: 'new' });
  expect(told).toEqual([lost, 'pool new loses no key and no credential']);
});
