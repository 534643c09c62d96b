/** A pool whose credential is wrong: the console tells it, from the first refusal on. */
import { beforeAll, describe, expect, it } from 'vitest';
import { canary } from '../canary.ts';
import { type Finished, start } from '../process.ts';
import { ADMIN_TOKEN } from '../server.ts';
import { answering } from './raw.ts';
import { stage } from './stage.ts';

const { server, upstream } = stage();

async function nthbouncer(...words: string[]): Promise<Finished> {
  const env = {
    NTHBOUNCER_URL: `http://127.0.0.1:${server.port}`,
    NTHBOUNCER_ADMIN_TOKEN: ADMIN_TOKEN,
  };
  return await start(words, env).finished;
}

describe('a credential that the upstream refuses', () => {
  beforeAll(async () => {
    const value = canary('credential');
    await server.pool('wrong', upstream.port, {
      upstream: { credentials: [{ name: 'key-a', header: 'authorization', value }] },
    });
    upstream.play = answering('HTTP/1.1 401 No\r\ncontent-length: 0\r\n\r\n');
    await server.call({ pool: 'wrong', path: '/v1/models' });
  });

  it('is what explain says holds proxied calls back', async () => {
    const { out } = await nthbouncer('explain', 'wrong');
    expect(out).toMatch(
      /^wrong would refuse proxied calls now, until 20.*Z: all .* put aside: key-a by 401 until 20/,
    );
    expect(out).toMatch(/\ncredentials +shut +20.*Z +all credentials are put aside/);
    const { out: json } = await nthbouncer('explain', 'wrong', '--json');
    expect(JSON.parse(json)).toMatchObject({ refuses: 'credentials' });
  });

  it('is odd to doctor', async () => {
    const { code, out } = await nthbouncer('doctor');
    expect(code).toBe(0);
    expect(out).toMatch(
      /\npool wrong +odd +the upstream refused the credential key-a with 401; is its value right\?/,
    );
  });

  it('is seen in the log, with what was asked', async () => {
    // Rows of proxied calls follow within a second.
    let out = '';
    while (!out.includes('GET')) ({ out } = await nthbouncer('log', 'wrong'));
    expect(out).toMatch(
      /^AT .* HOLDER OR REQUEST\n.* granted .* 401 {2}key-a +GET \/v1\/models\n$/,
    );
  });

  it('costs those who wait no start of the rate', async () => {
    const value = canary('credential');
    await server.pool('rated', upstream.port, {
      limit: 1,
      rate: { rpm: 5 },
      upstream: { credentials: [{ name: 'key-a', header: 'authorization', value }] },
    });
    upstream.play = answering('HTTP/1.1 401 No\r\ncontent-length: 0\r\n\r\n');
    const calls = Array.from({ length: 5 }, () => server.call({ pool: 'rated' }));
    const statuses = (await Promise.all(calls)).map(({ status }) => status).sort();
    expect(statuses).toEqual([401, 429, 429, 429, 429]);
    const { rpmRemaining } = await server.admin('GET', '/pools/rated/governor');
    expect(rpmRemaining).toBe(4);
  });
});
