/**
 * Where a pool key may stand in a request, and in which forms: over the whole door, since what
 * counts is who gets a slot.
 */
import { Buffer } from 'node:buffer';
import { beforeEach, describe, expect, it } from 'vitest';
import { type Caller, Door, fixed, WRONG_KEY } from '../http/door.ts';

let door: Door;
let caller: Caller;

beforeEach(async () => {
  door = await Door.open();
});

async function pool(key: object = {}): Promise<Caller> {
  caller = await door.pool('a', fixed(1000, { access: { key } }));
  return caller;
}

/** The status that headers lead to; what was granted is given back. */
async function status(headers: HeadersInit): Promise<number> {
  const answer = await door.call('POST', '/pools/a/lock/acquire', { headers });
  expect([200, 401]).toContain(answer.status);
  expect(caller.inUse).toBe(answer.status === 200 ? 1 : 0);
  if (answer.status === 200) await caller.release(String(answer.json['slotId']));
  else expect(answer.headers.get('www-authenticate')).toMatch(/^Nthbouncer(, Basic realm="a")?$/);
  return answer.status;
}

const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;
const KEY = 'x-nthpool-key';

describe('X-Nthpool-Key', () => {
  it('opens the pool with a right key, blanks around it aside', async () => {
    const { key } = await pool();
    expect(await status({ [KEY]: key })).toBe(200);
    expect(await status({ [KEY]: `  ${key}\t` })).toBe(200);
    expect(await status({ 'X-NTHPOOL-KEY': key })).toBe(200);
  });

  it('opens it with nothing else', async () => {
    const { key } = await pool();
    const wrong = [
      '',
      ' ',
      WRONG_KEY,
      key.slice(0, -1),
      `${key}x`,
      `${key} x`,
      `${key},`,
      key.toUpperCase(),
      `Nthbouncer ${key}`,
      `"${key}"`,
      key.replace('nb_live_', ''),
      'x'.repeat(10_000),
      'nb_live_\u00e9\u00ff',
      '\u00a0',
      `${key}\u00a0`,
      '__proto__',
      'null',
    ];
    for (const value of wrong) expect(await status({ [KEY]: value }), value).toBe(401);
    expect(await status({})).toBe(401);
  });

  it('twice fails, even with the same right key', async () => {
    const { key } = await pool();
    expect(await status([[KEY, key], [KEY, key]])).toBe(401);
    expect(await status([[KEY, key], [KEY, WRONG_KEY]])).toBe(401);
    expect(await status([[KEY, ''], [KEY, key]])).toBe(401);
  });
});

describe('Authorization', () => {
  it('takes its scheme in any letter case, and exactly one token', async () => {
    const { key } = await pool();
    for (const scheme of ['Nthbouncer', 'nthbouncer', 'NTHBOUNCER', 'nThBoUnCeR']) {
      expect(await status({ authorization: `${scheme} ${key}` }), scheme).toBe(200);
      expect(await status({ authorization: `${scheme}   ${key}  ` }), scheme).toBe(200);
    }
    const wrong = [
      'Nthbouncer',
      'Nthbouncer ',
      `Nthbouncer ${WRONG_KEY}`,
      `Nthbouncer ${key} extra`,
      `Nthbouncer ${key},${key}`,
      `Nthbouncer:${key}`,
      `Nthbouncer\t${key}`,
      `Nthbouncer="${key}"`,
      `Nthbouncerx ${key}`,
      `Nthbouncer nthbouncer ${key}`,
      key,
      ` ${key}`,
      '',
    ];
    for (const value of wrong) expect(await status({ authorization: value }), value).toBe(401);
  });

  const schemes = ['Nthbouncer', 'Bearer', 'Basic'] as const;
  const value = (scheme: string, key: string) =>
    scheme === 'Basic' ? basic(`user:${key}`) : `${scheme} ${key}`;

  it.each([[[]], [['Bearer']], [['Basic']], [['Bearer', 'Basic']], [['Nthbouncer', 'Bearer']]])(
    'opens the pool by the listed schemes alone: %j',
    async (authorization: string[]) => {
      const { key } = await pool({ authorization });
      for (const scheme of schemes) {
        const wanted = authorization.includes(scheme) ? 200 : 401;
        expect(await status({ authorization: value(scheme, key) }), scheme).toBe(wanted);
      }
      for (const scheme of ['Digest', 'Negotiate', 'Token', 'JWT', 'Bearer-x']) {
        expect(await status({ authorization: `${scheme} ${key}` }), scheme).toBe(401);
      }
      expect(await status({ [KEY]: key })).toBe(200);
    },
  );

  it('by Basic takes the password, whatever the user is', async () => {
    const { key } = await pool({ authorization: ['Basic'] });
    expect(await status({ authorization: basic(`:${key}`) })).toBe(200);
    expect(await status({ authorization: basic(`someone:${key}`) })).toBe(200);
    expect(await status({ authorization: basic(`ü:${key}`) })).toBe(200);
    for (const text of [`${key}:`, `${key}:x`, `a:b:${key}`, `a:${key}:b`, `a:${key}\n`, '', ':']) {
      expect(await status({ authorization: basic(text) }), text).toBe(401);
    }
    for (const text of ['Basic', 'Basic !!!', 'Basic %%%%', `Basic ${key}`]) {
      expect(await status({ authorization: text }), text).toBe(401);
    }
  });

  it('is asked for by Basic where that is listed, and nowhere else', async () => {
    const challenge = async (name: string, headers: HeadersInit = {}) =>
      (await door.call('POST', `/pools/${name}/lock/acquire`, { headers }))
        .headers.get('www-authenticate');
    await pool({ authorization: ['Nthbouncer', 'Basic'] });
    await door.pool(
      'b-2',
      fixed(1, { access: { key: { authorization: ['Nthbouncer', 'Bearer'] } } }),
    );
    expect(await challenge('a')).toBe('Nthbouncer, Basic realm="a"');
    expect(await challenge('a', { [KEY]: WRONG_KEY })).toBe('Nthbouncer, Basic realm="a"');
    expect(await challenge('a', { authorization: basic('u:p') })).toBe(
      'Nthbouncer, Basic realm="a"',
    );
    expect(await challenge('b-2')).toBe('Nthbouncer');
    expect(await challenge('nobody')).toBe('Nthbouncer');
  });

  it('by Basic takes exactly one token of base64', async () => {
    const { key } = await pool({ authorization: ['Basic'], required: false });
    const token = basic(`u:${key}`).slice('Basic '.length);
    expect(await status({ authorization: `Basic   ${token} ` })).toBe(200);
    const [start, end] = [token.slice(0, 10), token.slice(10)];
    const junk = ['x', token, '!!', '==='].flatMap((one) => [`${token} ${one}`, token + one]);
    junk.push(`${token}, Digest x`, `${start}*${end}`, `${start} ${end}`, `*${token}`);
    for (const text of junk) {
      expect(await status({ authorization: `Basic ${text}` }), text).toBe(401);
      expect(await status({ authorization: `Basic ${text}`, [KEY]: key }), text).toBe(401);
    }
  });

  it('with a token that is no key is nobody\u2019s business beside a right key', async () => {
    const { key } = await pool({ authorization: ['Nthbouncer', 'Bearer', 'Basic'] });
    for (const authorization of ['Bearer ey.J.x', basic('user:secret'), 'Digest a="b"', 'junk']) {
      expect(await status({ [KEY]: key, authorization }), authorization).toBe(200);
      expect(await status({ authorization }), authorization).toBe(401);
    }
  });

  it('with a wrong key fails beside a right one, in either place', async () => {
    const { key } = await pool({ authorization: ['Nthbouncer', 'Bearer', 'Basic'] });
    for (const scheme of schemes) {
      expect(await status({ [KEY]: key, authorization: value(scheme, WRONG_KEY) })).toBe(401);
      expect(await status({ [KEY]: WRONG_KEY, authorization: value(scheme, key) })).toBe(401);
      expect(await status({ [KEY]: key, authorization: value(scheme, key) })).toBe(200);
    }
  });

  it('twice fails', async () => {
    const { key } = await pool({ authorization: ['Nthbouncer', 'Bearer'] });
    const right = `Nthbouncer ${key}`;
    for (const other of [right, `Bearer ${key}`, `Nthbouncer ${WRONG_KEY}`]) {
      expect(await status([['authorization', right], ['authorization', other]])).toBe(401);
    }
  });
});

describe('a named header', () => {
  it('opens the pool where it begins as a key does, and is ignored elsewhere', async () => {
    const { key } = await pool({ headers: ['X-Api-Key'] });
    expect(await status({ 'x-api-key': key })).toBe(200);
    expect(await status({ 'X-API-KEY': ` ${key} ` })).toBe(200);
    expect(await status({ 'x-api-key': WRONG_KEY })).toBe(401);
    expect(await status({ 'x-api-key': 'sk-upstream' })).toBe(401);
    expect(await status({ 'x-api-key': 'sk-upstream', [KEY]: key })).toBe(200);
    expect(await status({ 'x-api-key': WRONG_KEY, [KEY]: key })).toBe(401);
    expect(await status({ 'x-other': key })).toBe(401);
    expect(await status([['x-api-key', key], ['x-api-key', key]])).toBe(401);
  });
});

describe('a header that may carry a key', () => {
  it.each(['authorization', 'X-Api-Key'])('fails where it repeats: %s', async (name) => {
    const { key } = await pool({ headers: ['x-api-key'], authorization: [], required: false });
    for (const values of [['Digest a', 'Digest b'], ['', 'x'], ['x', ''], ['x', key]]) {
      const lines = values.map((value) => [name, value] as [string, string]);
      expect(await status(lines), values.join()).toBe(401);
      expect(await status([...lines, [KEY, key]]), values.join()).toBe(401);
    }
    expect(await status([[name, 'Digest a, b'], [KEY, key]])).toBe(200);
    expect(await status([['accept', 'a'], ['accept', 'b'], [KEY, key]])).toBe(200);
  });
});

describe('a pool that wants no key', () => {
  it('is open to who has none, and closed to who has a wrong one', async () => {
    const { key } = await pool({ required: false });
    expect(await status({})).toBe(200);
    expect(await status({ [KEY]: key })).toBe(200);
    expect(await status({ [KEY]: WRONG_KEY })).toBe(401);
    expect(await status({ [KEY]: '' })).toBe(401);
    expect(await status({ authorization: `Nthbouncer ${WRONG_KEY}` })).toBe(401);
    expect(await status({ authorization: `Nthbouncer\t${WRONG_KEY}` })).toBe(401);
    expect(await status({ authorization: `x,Nthbouncer\t${WRONG_KEY}` })).toBe(401);
    expect(await status({ authorization: 'Bearer anything' })).toBe(200);
  });
});
