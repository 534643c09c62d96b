/** What answers every call with JSON, and is another program, is told as such and asked no more. */
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { freshFolder, start } from './process.ts';

const servers: http.Server[] = [];
const seen: string[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close().closeAllConnections();
  seen.splice(0);
});

/** An echo service; another that says of itself what this server would. */
async function echo(health: object): Promise<string> {
  const server = http.createServer(({ method, url = '' }, answer) => {
    seen.push(`${method} ${url}`);
    const body = /^\/(healthz|readyz)$/.test(url) ? health : { method, url, version: '1' };
    answer.end(JSON.stringify(body));
  });
  servers.push(server);
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function against(url: string, words: readonly string[]) {
  const env = { NTHBOUNCER_URL: url, NTHBOUNCER_ADMIN_TOKEN: 'x'.repeat(40), NTHBOUNCER_KEY: 'k' };
  return start(words, env, { cwd: freshFolder() }).finished;
}

describe('another server', () => {
  it.each(['pool list', 'explain p', 'pool delete p --yes'])(
    'ends `%s` with 6, and hears of no change',
    async (words) => {
      const url = await echo({});
      const { code, out, err } = await against(url, words.split(' '));
      expect({ code, out, err }).toEqual({
        code: 6,
        out: '',
        err: `nthbouncer: what answers at ${url} is no nthbouncer (status 200)\n`,
      });
      expect(seen).toEqual(['GET /admin/api/version']);
    },
  );

  it('ends run with 6, and starts no command', async () => {
    const url = await echo({});
    const path = join(freshFolder(), 'started');
    const { code, err } = await against(url, ['run', 'p', '--', 'touch', path]);
    expect({ code, err }).toEqual({
      code: 6,
      err: expect.stringMatching(`^nthbouncer: what answers at ${url} is no nthbouncer: .*\n$`),
    });
    expect(existsSync(path)).toBe(false);
  });

  it('is wrong to doctor, by its health or by its version', async () => {
    const first = await against(await echo({}), ['doctor']);
    expect(first).toMatchObject({
      code: 1,
      out: expect.stringMatching(/\nserver +wrong +http:\S+ 200, but not as nthbouncer answers\n$/),
    });
    const second = await against(await echo({ ok: true }), ['doctor']);
    expect(second).toMatchObject({
      code: 1,
      out: expect.stringMatching(
        /\nadmin token +wrong +what answers at \S+ is no nthbouncer .*\n$/,
      ),
    });
  });
}, 60_000);
