/**
 * What the configuration file takes from variables: which names and values are refused, and that no
 * value is ever shown.
 */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { PoolFileError, readPoolFile } from '../../src/cli/pool_file.ts';

let content: unknown = null;
const environment = new Map<string, string>();

beforeEach(() => {
  environment.clear();
  vi.stubGlobal('Deno', {
    readTextFile: () => Promise.resolve(JSON.stringify(content)),
    env: {
      get: (name: string) => {
        if (/[=\0]/.test(name)) throw new TypeError('Key contains invalid characters');
        return environment.get(name);
      },
    },
  });
});
afterEach(() => void vi.unstubAllGlobals());

async function read(file: unknown) {
  content = file;
  return await readPoolFile('pools.json', 'localhost');
}

async function refusal(file: unknown): Promise<string> {
  const error = await read(file).catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(PoolFileError);
  const { message } = error as PoolFileError;
  expect(message).toMatch(/^pools\.json: .*$/);
  return message;
}

describe('variables', () => {
  it('refuses a variable that is empty, and shows no value of any', async () => {
    environment.set('EMPTY', '');
    environment.set('OTHER', 'nb_live_secret');
    const keys = [{ name: 'o', env: 'OTHER' }, { name: 'e', env: 'EMPTY' }];
    const line = await refusal({ pools: [{ name: 'a', keys }] });
    expect(line).toContain('EMPTY');
    expect(line).not.toContain('nb_live_secret');
  });

  it.each(['nb_live_one\n', ' nb_live_one', 'nb live one', 'nb_live_één'])(
    'refuses %j as a key: no request can carry it',
    async (value) => {
      environment.set('KEY', value);
      const line = await refusal({ pools: [{ name: 'a', keys: [{ name: 'k', env: 'KEY' }] }] });
      expect(line).toContain('key k: KEY must hold one word of visible ASCII characters');
      expect(line).not.toContain('live');
    },
  );

  it('refuses a secret that ends in a line end, and leaves those within', async () => {
    const hmac = (value: string) => {
      environment.set('SECRET', value);
      return { pools: [{ name: 'a', access: { hmac: { secrets: [{ env: 'SECRET' }] } } }] };
    };
    expect(await refusal(hmac(`${'s'.repeat(32)}\n`))).toContain('SECRET ends in a line end');
    const [pool] = await read(hmac(`${'s'.repeat(32)}\n${'s'.repeat(8)}`));
    expect(pool?.spec.access.hmac?.secrets).toHaveLength(1);
  });

  it.each([
    [
      'of a key',
      { keys: [{ name: 'k', env: 'A=B' }] },
      'keys.0.env: must be the name of a variable',
    ],
    [
      'of a secret',
      { access: { hmac: { secrets: [{ env: 'A\0B' }] } } },
      'access.hmac.secrets.0: {"env": NAME}',
    ],
  ])('refuses what can be no name of one, %s', async (_, pool, where) => {
    expect(await refusal({ pools: [{ name: 'a', ...pool }] })).toContain(where);
  });
});
