/** No error of any command says a secret that came where it is not right. */
import { describe, expect, it } from 'vitest';
import { folder } from '../store/samples.ts';
import { canary } from './canary.ts';
import { start } from './process.ts';

const SECRET = canary('unsaid');
const NOBODY = 'http://127.0.0.1:18799';
const [SERVE, LIST, RUN] = [['serve', '--port', '0'], ['pool', 'list'], ['run', 'p', '--', 'true']];
const REMOTE = [...SERVE, '--db', NOBODY];
const GOOD_TOKEN = { NTHBOUNCER_ADMIN_TOKEN: 'x'.repeat(40) };
/** A secret as a header cannot carry it, and one that is too short to be one. */
const [CUT, SHORT] = [`${SECRET}\nx`, 'cAnArYmArK-short'];

/** The whole line, so that nothing else can be in it. */
async function lineOf(words: readonly string[], env: Record<string, string>) {
  const { code, out, err } = await start(words, env, { cwd: folder() }).finished;
  expect(out + err).not.toContain('cAnArYmArK');
  expect((out + err).trim().split('\n')).toHaveLength(1);
  return { code, line: err.trim() };
}

const DATABASES = [
  `foo://user:${SECRET}@host?authToken=${SECRET}`,
  SECRET,
  `file://${SECRET}@host/x.db`,
  `libsql:${SECRET}`,
  `libsql://127.0.0.1:18799?authToken=${SECRET}%0Ax`,
];

describe('a database that cannot be', () => {
  it.each(['serve', 'backup', 'restore', 'rekey', 'admin-token'])(
    '%s names the setting and not what came',
    async (command) => {
      const file = ['backup', 'restore'].includes(command) ? ['x.db'] : [];
      const [flag, variable] = [DATABASES[0] as string, DATABASES[4] as string];
      const wanted = {
        code: 2,
        line: expect.stringMatching(/^nthbouncer: --db or NTHBOUNCER_DB /),
      };
      expect(await lineOf([command, ...file, '--db', flag], {})).toEqual(wanted);
      expect(await lineOf([command, ...file], { NTHBOUNCER_DB: variable })).toEqual(wanted);
    },
  );

  it.each(DATABASES)('%s is never shown', async (url) => {
    expect(await lineOf([...SERVE, '--db', url], {})).toMatchObject({ code: 2 });
  });

  it.each([
    `http://127.0.0.1:18799?authToken=${SECRET}`,
    `ws://127.0.0.1:18799?authToken=${SECRET}`,
    `libsql://user:${SECRET}@127.0.0.1:18799?tls=0&authToken=${SECRET}`,
    `http://127.0.0.1:18799?authToken=${SECRET}&other=${SECRET}`,
  ])('%s is not shown where nobody answers', async (url) => {
    expect(await lineOf([...SERVE, '--db', url], {})).toMatchObject({ code: 1 });
  });
});

describe('a secret of the environment that is not right', () => {
  it.each<[string, string, readonly string[], Record<string, string>]>([
    ['NTHBOUNCER_DB_TOKEN', CUT, REMOTE, {}],
    ['NTHBOUNCER_ADMIN_TOKEN', CUT, LIST, {}],
    ['NTHBOUNCER_ADMIN_TOKEN', SHORT, SERVE, {}],
    ['NTHBOUNCER_ADMIN_TOKEN', `${SECRET}é`, SERVE, {}],
    ['NTHBOUNCER_METRICS_TOKEN', CUT, SERVE, GOOD_TOKEN],
    ['NTHBOUNCER_MASTER_KEY', SHORT, SERVE, {}],
    ['NTHBOUNCER_NEW_MASTER_KEY', SHORT, ['rekey'], { NTHBOUNCER_MASTER_KEY: SECRET }],
    ['NTHBOUNCER_KEY', CUT, RUN, {}],
    ['NTHBOUNCER_URL', `http://:${SECRET}@127.0.0.1:18799`, LIST, GOOD_TOKEN],
    ['NTHBOUNCER_URL', `${NOBODY}?token=${SECRET}`, LIST, GOOD_TOKEN],
    ['NTHBOUNCER_URL', SECRET, RUN, {}],
  ])('%s of %j ends in one line that names it', async (name, value, words, env) => {
    const { code, line } = await lineOf(words, { ...env, [name]: value });
    expect(line).toMatch(new RegExp(`^nthbouncer: ${name}`));
    expect(code).toBe(2);
  });
}, 30_000);
