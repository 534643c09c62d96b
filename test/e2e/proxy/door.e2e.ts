/**
 * Who is let through the proxy door and how it says no: waiting, refusals, hosts, signatures,
 * credentials, forwarding headers.
 */
import { createHash, createHmac } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { answering, plain, sleep } from './raw.ts';
import { canary } from '../canary.ts';
import { stage } from './stage.ts';

const { server, upstream } = stage();
const NO_QUEUE = { 'x-nthpool-no-queue': '1' };

/** Holds the pool's one slot by a lock until the promise's function is called. */
async function hold(pool: string): Promise<() => Promise<unknown>> {
  const path = `/pools/${pool}/lock`;
  const { body } = await server.call({ method: 'POST', path: `${path}/acquire` });
  const { slotId } = JSON.parse(body);
  return () => server.call({ method: 'POST', path: `${path}/${slotId}/release` });
}

describe('admission', () => {
  beforeAll(() => server.pool('gate', upstream.port, { limit: 1, queue: { timeoutMs: 1500 } }));

  it('waits by default, shares the slots with locks, and tells how long', async () => {
    const release = await hold('gate');
    const answer = server.call({ pool: 'gate' });
    await sleep(300);
    expect(upstream.requests).toHaveLength(0);
    await release();
    const { status, headers } = await answer;
    expect(status).toBe(200);
    expect(Number(headers['x-nthpool-queued-ms'])).toBeGreaterThanOrEqual(250);
    expect(headers).toMatchObject({
      'x-nthpool-remaining-slots': '0',
      'x-nthpool-effective-limit': '1',
      'x-nthpool-queue-depth': '0',
    });
    expect(headers).not.toHaveProperty('x-nthpool-error');
    expect(await server.capacity('gate')).toBe(1);
  });

  it('refuses at once, after less, or when the queue timeout is over', async () => {
    const release = await hold('gate');
    const full = await server.call({ pool: 'gate', headers: NO_QUEUE });
    expect(full).toMatchObject({
      status: 429,
      headers: { 'x-nthpool-error': 'too_many_requests' },
    });
    expect(JSON.parse(full.body)).toMatchObject({ error: 'too_many_requests', reason: 'full' });
    expect(Number(full.headers['retry-after'])).toBeGreaterThanOrEqual(1);
    for (
      const [headers, ms] of [[{ 'x-nthpool-queue-timeout-ms': '200' }, 200], [{}, 1500]] as const
    ) {
      const start = performance.now();
      const late = await server.call({ pool: 'gate', headers });
      expect(late).toMatchObject({ status: 504, headers: { 'x-nthpool-error': 'queue_timeout' } });
      expect(Math.abs(performance.now() - start - ms)).toBeLessThan(300);
    }
    const bad = await server.call({
      pool: 'gate',
      headers: { 'x-nthpool-queue-timeout-ms': '-1' },
    });
    expect(bad.status).toBe(400);
    await release();
    expect(upstream.requests).toHaveLength(0);
  });

  it('tells in the log what was asked for and refused', async () => {
    const release = await hold('gate');
    await server.call({ pool: 'gate', method: 'PUT', path: '/full?q=1', headers: NO_QUEUE });
    await server.call({
      pool: 'gate',
      path: '/bad',
      headers: { 'x-nthpool-queue-timeout-ms': '-1' },
    });
    await server.call({ pool: 'gate', path: '/key', headers: { 'x-nthpool-key': 'nb_live_x' } });
    await release();
    const { entries } = await server.admin('GET', '/pools/gate/log?limit=20');
    const rows = (entries as Record<string, unknown>[]).filter(({ path }) =>
      ['/full', '/bad', '/key'].includes(String(path))
    );
    expect(rows).toMatchObject([
      { kind: 'proxy', outcome: 'unauthorized', method: 'GET', path: '/key' },
      { kind: 'proxy', outcome: 'invalid_request', method: 'GET', path: '/bad' },
      { kind: 'proxy', outcome: 'too_many_requests', method: 'PUT', path: '/full' },
    ]);
    expect(rows[0]).toMatchObject({ upstreamStatus: null, bytesIn: 0, bytesOut: 0 });
  });

  it('tells an unknown pool, a wrong key and a missing one the same', async () => {
    await server.pool('keyed', upstream.port, { access: { key: { required: true } } });
    const answers = [
      await server.call({ pool: 'nobody' }),
      await server.call({ pool: 'keyed' }),
      await server.call({ pool: 'keyed', headers: { 'x-nthpool-key': 'nb_live_wrong' } }),
    ];
    for (const { status, headers, body } of answers) {
      expect([status, headers['x-nthpool-error'], body]).toEqual(
        [401, 'unauthorized', answers[0]?.body],
      );
      expect(Object.keys(headers).toSorted()).toEqual(
        Object.keys(answers[0]?.headers ?? {}).toSorted(),
      );
    }
    const { key } = await server.admin('POST', '/pools/keyed/keys', { name: 'k' });
    const headers = { 'x-nthpool-key': String(key), authorization: 'Bearer own' };
    expect((await server.call({ pool: 'keyed', headers })).status).toBe(200);
    expect(upstream.requests[0]?.head).toContain('authorization: Bearer own');
    expect(upstream.requests[0]?.head).not.toContain(String(key));
  });

  it('serves further hosts of a pool, each of one pool only', async () => {
    await server.admin('PATCH', '/pools/gate', { upstream: { hosts: ['LLM.acme.test'] } });
    const headers = { host: `llm.acme.test:${server.port}` };
    expect((await server.call({ headers })).body).toBe('ok');
    await expect(server.pool('thief', upstream.port, { upstream: { hosts: ['llm.acme.test'] } }))
      .rejects.toThrow('400');
    await server.admin('PATCH', '/pools/gate', { upstream: { hosts: null } });
    expect((await server.call({ headers })).status).toBe(404);
  });
});

describe('a signed pool', () => {
  const secret = canary('hmac-secret');
  const sign = (body: string) => {
    const timestamp = String(Date.now());
    const nonce = String(performance.now());
    const hash = createHash('sha256').update(body).digest('hex');
    const text = ['v1', 'signed', 'proxy', timestamp, nonce, 'POST', '/x?y=%2F', hash].join('\n');
    return {
      'x-nthpool-timestamp': timestamp,
      'x-nthpool-nonce': nonce,
      'x-nthpool-signature': `v1=${createHmac('sha256', secret).update(text).digest('hex')}`,
    };
  };

  it('gets the body that was checked, once for each nonce', async () => {
    await server.pool('signed', upstream.port, {
      access: { key: { required: false }, hmac: { secrets: [secret] } },
    });
    const call = { pool: 'signed', method: 'POST', path: '/x?y=%2F', body: 'checked' };
    const headers = sign('checked');
    expect((await server.call({ ...call, headers })).status).toBe(200);
    expect(upstream.requests[0]?.body).toBe('checked');
    expect(upstream.requests[0]?.head).not.toContain('nthpool');
    expect((await server.call({ ...call, headers })).status).toBe(401);
    expect((await server.call({ ...call, headers: sign('other') })).status).toBe(401);
    expect(upstream.requests).toHaveLength(1);
  });
});

describe('forwarding headers', () => {
  const told = () =>
    (upstream.requests.at(-1)?.head ?? '').split('\r\n').filter((line) => line.startsWith('x-f'));

  it('are replaced where the pool wants them, and appended behind a trusted proxy', async () => {
    const headers = { 'x-forwarded-for': '203.0.113.9', 'x-forwarded-proto': 'https' };
    await server.pool('told', upstream.port, { upstream: { forwarded: true } });
    const host = `told.localhost:${server.port}`;
    // The target's scheme is the caller's word, too.
    await server.call({ pool: 'told', headers, path: `https://${host}/` });
    expect(told()).toEqual([
      'x-forwarded-for: 127.0.0.1',
      'x-forwarded-proto: http',
      `x-forwarded-host: ${host}`,
    ]);
    await server.kill('SIGTERM');
    await server.start(['--trusted-proxies', '127.0.0.1']);
    await server.call({ pool: 'told', headers });
    expect(told()).toEqual([
      'x-forwarded-for: 203.0.113.9, 127.0.0.1',
      'x-forwarded-proto: https',
      `x-forwarded-host: ${host}`,
    ]);
  });
});

describe('credentials', () => {
  const secretOf = (name: string) => canary(`credential-${name}`);
  const secret = new RegExp(canary('credential').split('-').slice(0, 2).join('-'));
  const seen = () => upstream.requests.map(({ head }) => /x-api-key: (.*)\r/.exec(head)?.[1]);

  beforeAll(() =>
    server.pool('keys', upstream.port, {
      limit: 2,
      upstream: {
        credentials: ['a', 'b'].map((name) => ({
          name,
          header: 'X-Api-Key',
          value: secretOf(name),
        })),
      },
    })
  );

  it("take turns, replace the caller's header, and are put aside when refused", async () => {
    for (let at = 0; at < 3; at++) {
      await server.call({ pool: 'keys', headers: { 'x-api-key': 'mine' } });
    }
    expect(seen()).toEqual(['a', 'b', 'a'].map(secretOf));
    upstream.play = answering('HTTP/1.1 401 No\r\ncontent-length: 0\r\n\r\n');
    expect((await server.call({ pool: 'keys' })).status).toBe(401);
    const throttle = 'HTTP/1.1 429 Slow\r\nretry-after: 1\r\ncontent-length: 0\r\n\r\n';
    upstream.play = answering(throttle);
    expect((await server.call({ pool: 'keys' })).status).toBe(429);
    const refused = await server.call({ pool: 'keys', headers: NO_QUEUE });
    expect(refused.headers['x-nthpool-error']).toBe('too_many_requests');
    expect(JSON.parse(refused.body).reason).toBe('credentials');
    const { credentials } = await server.admin('GET', '/pools/keys/status');
    expect(credentials).toMatchObject([
      { name: 'a', coolingFor: 429 },
      { name: 'b', coolingFor: 401 },
    ]);
    expect(upstream.requests).toHaveLength(5);
  });

  it('are those in force when the wait ends', async () => {
    const credentials = (name: string) => [{ name, header: 'X-Api-Key', value: secretOf(name) }];
    await server.pool('moved', upstream.port, {
      limit: 1,
      upstream: { credentials: credentials('a') },
    });
    const release = await hold('moved');
    const waiting = server.call({ pool: 'moved' });
    await sleep(100);
    await server.admin('PATCH', '/pools/moved', { upstream: { credentials: credentials('c') } });
    await release();
    expect((await waiting).status).toBe(200);
    expect(seen()).toEqual([secretOf('c')]);
  });

  it('are shown nowhere, and kept where a change leaves them out', async () => {
    await server.admin('PATCH', '/pools/keys', {
      upstream: { credentials: [{ name: 'a', header: 'x-other' }] },
    });
    const everything = JSON.stringify([
      await server.admin('GET', '/pools'),
      await server.admin('GET', '/pools/keys'),
      await server.admin('GET', '/pools/keys/status'),
      await server.admin('GET', '/pools/keys/log'),
    ]) + server.output;
    expect(everything).not.toMatch(secret);
    expect(everything).toContain('secretSet');
    for (const file of readdirSync(server.folder)) {
      const bytes = readFileSync(`${server.folder}/${file}`, 'latin1');
      expect(bytes, file).not.toMatch(secret);
    }
    await sleep(1200);
    upstream.requests.length = 0;
    await server.call({ pool: 'keys', headers: { 'x-nthpool-queue-timeout-ms': '5000' } });
    expect(upstream.requests[0]?.head).toContain(`x-other: ${secretOf('a')}`);
  });
});

describe('a refusal in the body of a 200', () => {
  beforeAll(() => server.pool('graph', upstream.port, { limit: 2 }));

  const answer = (body: unknown, type = 'application/json') =>
    answering(plain(JSON.stringify(body), `content-type: ${type}\r\n`));
  const pausedMs = async () => {
    const { pausedUntil } = await server.admin('GET', '/pools/graph/status');
    return pausedUntil === null ? 0 : Number(pausedUntil) - Date.now();
  };

  it('is none where it is no code of an error', async () => {
    upstream.play = answer({ text: 'you are THROTTLED', errors: [{ message: 'rate limit' }] });
    expect((await server.call({ pool: 'graph' })).status).toBe(200);
    upstream.play = answer({ errors: [{ extensions: { code: 'THROTTLED' } }] }, 'text/html');
    expect((await server.call({ pool: 'graph' })).status).toBe(200);
    expect(await pausedMs()).toBe(0);
  });

  it('passes on as it is, and holds the next ones back', async () => {
    upstream.play = answer({
      errors: [{ extensions: { code: 'THROTTLED' } }],
      extensions: {
        cost: {
          requestedQueryCost: 500,
          throttleStatus: { maximumAvailable: 1000, currentlyAvailable: 100, restoreRate: 50 },
        },
      },
    });
    const { status, body } = await server.call({ pool: 'graph', method: 'POST', body: '{}' });
    expect([status, JSON.parse(body).errors]).toEqual([200, [{
      extensions: { code: 'THROTTLED' },
    }]]);
    const waitMs = await pausedMs();
    expect(waitMs).toBeGreaterThan(6000);
    expect(waitMs).toBeLessThan(9500);
    const refused = await server.call({ pool: 'graph', headers: NO_QUEUE });
    expect(refused.headers['x-nthpool-error']).toBe('too_many_requests');
  });
});
