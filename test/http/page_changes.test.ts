/** The forms of a pool's settings: what they send, and how they are drawn once they are saved. */
import { describe, expect, it } from 'vitest';
import { TestServer } from '../support/server.ts';

const ORIGIN = 'http://127.0.0.1:8787';
const PART = /<hx-partial hx-target="find .shown">(.*)<\/hx-partial>/s;

/** A pool, and a browser that is signed in. */
async function desk(settings: object = {}) {
  const test = await TestServer.start();
  await test.openPool('p1', settings);
  const { sessions } = test.server.desk;
  const id = await sessions.open(test.clock.nowMs());
  const cookie = `nthbouncer=${id}`;
  const headers = { cookie, origin: ORIGIN };
  const token = { 'x-nthbouncer-write-token': sessions.writeToken(id), 'hx-request': 'true' };
  const read = async (tab: string) =>
    await (await test.call(`/admin/pools/p1/${tab}`, { headers })).text();
  const send = async (what: string, fields: Record<string, string>) => {
    const body = new URLSearchParams(fields).toString();
    const path = `/admin/pools/p1/act/${what}`;
    return await (await test.call(path, {
      method: 'POST',
      headers: { ...headers, ...token },
      body,
    }))
      .text();
  };
  const spec = () => test.server.directory.get('p1')?.spec;
  return { test, headers, read, send, spec };
}

/** The fields that a form sends, as it is drawn: text and hidden ones. */
function fieldsIn(html: string): Record<string, string> {
  const tags = html.match(/<input [^>]*>/g) ?? [];
  return Object.fromEntries(
    tags.filter((tag) => !/type="checkbox"/.test(tag) || / checked/.test(tag)).map((tag) => [
      /name="([^"]*)"/.exec(tag)?.[1] ?? '',
      /value="([^"]*)"/.exec(tag)?.[1] ?? '',
    ]),
  );
}

/** The form of a page that is sent there. */
function formTo(what: string, page: string): string {
  const [, form = ''] = page.split(`<form method="post" action="/admin/pools/p1/act/${what}"`);
  return form.split('</form>')[0] ?? '';
}

describe('a form that lacks a secret', () => {
  it.each([
    ['hmac', 'access', { 'access.hmac:on': 'true', 'access.hmac.secrets:secrets': '' }],
    ['upstream', 'settings', {
      'upstream:on': 'true',
      'upstream.url:text': 'http://127.0.0.1:9',
      'upstream.credentials.0.name:text': 'a',
      'upstream.credentials.0.header:text': 'x-key',
    }],
  ])('says in %s what is wanted, and where', async (what, tab, typed) => {
    const { read, send, spec } = await desk();
    const before = spec();
    const told = await send(what, { ...fieldsIn(formTo(what, await read(tab))), ...typed });
    expect(told).toContain('>Nothing was saved: a secret is wanted, and none is stored yet.');
    expect(told).toContain('is wanted here: none is stored yet');
    expect(told).not.toContain('none came');
    expect(spec()).toEqual(before);
  });
});

describe('a rule for tokens', () => {
  it.each([
    [{}, /with RS256\. Tokens of any issuer and any audience pass: set both/],
    [{ issuer: 'https://id.example' }, /by https:\S+\. Tokens of any audience pass: set both/],
    [{ issuer: 'https://id.example', audience: 'a' }, /by https:\S+ for a\.</],
  ])('says which tokens pass that were not meant: %j', async (jwt, told) => {
    const jwksUrl = 'https://id.example/keys';
    const { test, read } = await desk();
    await test.admin('PATCH', '/pools/p1', { access: { jwt: { jwksUrl, ...jwt } } });
    expect(formTo('jwt', await read('access'))).toMatch(told);
  });
});

describe('a form that comes without the script', () => {
  it('keeps its secrets out of the address, changes nothing, and is told why', async () => {
    const { test, headers, read, spec } = await desk();
    for (const tab of ['', '/settings', '/access', '/settings?as=json']) {
      const page = await (await test.call(`/admin/pools/p1${tab}`, { headers })).text();
      const forms = page.match(/<form [^>]*>/g) ?? [];
      expect(forms).not.toEqual([]);
      for (const form of forms) {
        expect(form).toMatch(/^<form method="post" action="([^"]+)" hx-post="\1"/);
      }
    }
    const fields = fieldsIn(formTo('upstream', await read('settings')));
    const typed = { ...fields, 'upstream:on': 'true', 'upstream.url:text': UPSTREAM.url };
    const body = new URLSearchParams(typed).toString();
    const path = '/admin/pools/p1/act/upstream';
    const told = await test.call(path, { method: 'POST', headers, body });
    expect(told.status).toBe(403);
    expect(await told.text()).toMatch(/Nothing was done.*without the page’s script/s);
    const strange = await test.call(path, { method: 'POST', body });
    expect(strange.headers.get('location')).toBe('/admin/sign-in');
    expect(spec()?.upstream).toBeNull();
  });
});

const UPSTREAM = { url: 'http://127.0.0.1:9' };

describe('a form of the settings that is saved', () => {
  it('is drawn as a fresh page draws it, so that what is typed next is added', async () => {
    const { read, send, spec } = await desk({ upstream: UPSTREAM });
    let form = formTo('upstream', await read('settings'));
    for (const [index, name] of ['first', 'second'].entries()) {
      const path = `upstream.credentials.${index}`;
      expect(form).toContain('<legend>New credential</legend>');
      const answer = await send('upstream', {
        ...fieldsIn(form),
        'upstream:on': 'true',
        [`${path}.name:text`]: name,
        [`${path}.header:text`]: 'authorization',
        [`${path}.value:secret`]: `Bearer sk-${name}`,
      });
      expect(answer).toMatch(/^Saved; .* with \d of ours\./);
      expect(answer).not.toContain('sk-first');
      expect(answer).not.toContain('sk-second');
      form = PART.exec(answer)?.[1] ?? '';
      expect(form).toContain(`<legend>Credential ${name}</legend>`);
      expect(formTo('upstream', await read('settings'))).toContain(form);
    }
    expect(spec()?.upstream?.credentials.map(({ name, value }) => [name, value]))
      .toEqual([['first', 'Bearer sk-first'], ['second', 'Bearer sk-second']]);
  });

  it('shows what its switch took away no more', async () => {
    const credentials = [{ name: 'a', header: 'x-key', value: 'sk-a' }];
    const { read, send, spec } = await desk({ upstream: { ...UPSTREAM, credentials } });
    const form = formTo('upstream', await read('settings'));
    const off = await send('upstream', { ...fieldsIn(form), 'upstream:on': '' });
    expect(off).not.toContain('Credential a');
    const again = { ...fieldsIn(off), 'upstream:on': 'true', 'upstream.url:text': UPSTREAM.url };
    expect(await send('upstream', again)).toMatch(/^Saved; /);
    expect(spec()?.upstream).toMatchObject({ ...UPSTREAM, credentials: [] });
  });
});

describe('a form that was made from older settings', () => {
  it('changes nothing, says so, and lets the forms of other parts be', async () => {
    const { test, read, send, spec } = await desk();
    const page = await read('settings');
    const fields = fieldsIn(formTo('concurrency', page));
    await test.admin('PATCH', '/pools/p1', { concurrency: { limit: 33 } });
    const told = await send('concurrency', { ...fields, 'concurrency.mode:text': 'adaptive' });
    expect(told).toContain('changed after this form was made, so nothing was saved');
    expect(spec()?.concurrency).toMatchObject({ limit: 33, mode: 'fixed' });
    const queue = fieldsIn(formTo('queue', page));
    expect(await send('queue', { ...queue, 'queue.maxDepth:int': '7' })).toMatch(/^Saved; /);
    expect(spec()?.queue.maxDepth).toBe(7);
    const fresh = fieldsIn(formTo('concurrency', await read('settings')));
    expect(await send('concurrency', { ...fresh, 'concurrency.mode:text': 'adaptive' }))
      .toMatch(/^Saved; /);
    expect(spec()?.concurrency).toMatchObject({ limit: 33, mode: 'adaptive' });
  });

  it('is not one where only the order of stored fields changed', async () => {
    const { test, read, send, spec } = await desk();
    await test.admin('PATCH', '/pools/p1', { lease: { termMs: 60_000 } });
    const lease = fieldsIn(formTo('lease', await read('settings')));
    await test.admin('PATCH', '/pools/p1', { concurrency: { limit: 5 } });
    expect(await send('lease', { ...lease, 'lease.termMs:int': '50000' })).toMatch(/^Saved; /);
    expect(spec()?.lease.termMs).toBe(50_000);
  });

  it.each([['access', 'access-json'], ['settings', 'upstream-json']])(
    'of the JSON of %s is refused, too',
    async (tab, what) => {
      const { test, read, send } = await desk({ upstream: UPSTREAM });
      const { seen = '' } = fieldsIn(formTo(what, await read(`${tab}?as=json`)));
      const patch = { access: { key: { headers: ['x-a'] } }, upstream: { forwarded: true } };
      const changed = await test.admin('PATCH', '/pools/p1', patch);
      expect(changed.status).toBe(200);
      const part = what.replace('-json', '');
      expect(await send(what, { seen, [`${part}:json`]: '{}' })).toContain('nothing was saved');
    },
  );
});
