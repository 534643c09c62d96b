/** What strangers send leaves nothing behind: no key of a query, and no name that is unknown. */
import { readdirSync, readFileSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { folder } from '../store/samples.ts';
import { canary } from './canary.ts';
import { type Running, start } from './process.ts';

const ADMIN = canary('admin-token');
const SECRET = canary('upstream-key');
const CALLS = 4_000;
const AT_ONCE = 40;

class Site {
  readonly folder = folder();
  readonly server: Running;
  origin = '';
  /** All that was answered, but for fresh keys. */
  seen = '';

  constructor() {
    const db = `file:${this.folder}/n.db`;
    this.server = start(
      ['serve', '--port', '0', '--db', db, '--trusted-proxies', '127.0.0.1'],
      { NTHBOUNCER_ADMIN_TOKEN: ADMIN },
    );
  }

  /** With a pool `p` and a key for it. */
  async open(settings: object = {}): Promise<string> {
    this.origin = await this.server.listening();
    await this.admin('POST', '/pools', { name: 'p', concurrency: { limit: 500 }, ...settings });
    const made = await this.admin('POST', '/pools/p/keys', { name: 'k' });
    this.seen = '';
    return JSON.parse(made.text).key;
  }

  async call(method: string, path: string, headers: http.OutgoingHttpHeaders = {}, body = '') {
    const { hostname, port } = new URL(this.origin);
    const answer = await new Promise<http.IncomingMessage>((done, fail) => {
      http.request({ hostname, port, method, path, headers, agent }, done).on('error', fail)
        .end(body);
    });
    let text = '';
    for await (const chunk of answer) text += chunk;
    this.seen += `${JSON.stringify(answer.headers)}\n${text}\n`;
    return { status: answer.statusCode, text };
  }

  admin(method: string, path: string, body?: object) {
    const headers = { authorization: `Bearer ${ADMIN}` };
    return this.call(method, `/admin/api${path}`, headers, body && JSON.stringify(body));
  }

  /** The series that there are, without their values. */
  async series(): Promise<string[]> {
    const { text } = await this.call('GET', '/metrics', { authorization: `Bearer ${ADMIN}` });
    const names = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => line.slice(0, line.lastIndexOf(' ')));
    return names.filter((name) => !name.includes('version_info')).sort();
  }

  files(): string {
    return readdirSync(this.folder).filter((name) => name.startsWith('n.db'))
      .map((name) => readFileSync(join(this.folder, name), 'latin1')).join();
  }
}

const agent = new http.Agent({ keepAlive: true, maxSockets: AT_ONCE });

describe('a key in a query', () => {
  it('opens neither door, and is found nowhere, nor is any secret beside it', async () => {
    const upstream = http.createServer((_, answer) => answer.end('ok'));
    await new Promise<void>((done) => upstream.listen(0, '127.0.0.1', done));
    const url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;
    const site = new Site();
    const key = await site.open({ upstream: { url } });
    const near = `${key.slice(0, -1)}${key.endsWith('x') ? 'y' : 'x'}`;
    const at = { lock: '/pools/p/lock/acquire', proxy: '/v1/things' };
    const told: (number | undefined)[] = [];
    for (const [door, path] of Object.entries(at)) {
      const host = door === 'proxy' ? { host: 'p.localhost' } : {};
      for (const name of ['key', 'access_token', 'api_key', 'x-nthpool-key', 'authorization']) {
        const target = `${path}?${name}=${key}`;
        told.push((await site.call('POST', target, host)).status);
        const wrong = { ...host, 'x-nthpool-key': near };
        told.push((await site.call('POST', target, wrong)).status);
      }
      const right = { ...host, 'x-nthpool-key': key };
      expect((await site.call('POST', `${path}?key=${key}`, right)).status).toBe(200);
    }
    expect(new Set(told)).toEqual(new Set([401]));
    for (const upstreamUrl of [`${url}?api_key=${SECRET}`, `http://u:${SECRET}@127.0.0.1`]) {
      const body = { upstream: { url: upstreamUrl } };
      expect((await site.admin('PATCH', '/pools/p', body)).status).toBe(400);
    }
    for (const path of ['/pools', '/pools/p/log', '/pools/p/status', '/pools/p/keys']) {
      expect((await site.admin('GET', path)).status).toBe(200);
    }
    expect(await site.series()).not.toEqual([]);
    await site.server.stop();
    const log = site.server.out.replace(/^(first start|try it):.*\n/gm, '');
    for (const secret of [key, near, SECRET]) {
      for (const place of [site.seen, site.files(), log]) expect(place).not.toContain(secret);
    }
    upstream.close();
  });
});

describe('names that are unknown', () => {
  it('make no series and no rows, however many come', async () => {
    const site = new Site();
    const key = await site.open();
    let sent = 0;
    const some = async (calls: number) => {
      const endAt = sent + calls;
      const one = async () => {
        while (sent < endAt) {
          const n = sent++;
          const headers = {
            'x-nthpool-key': key,
            'x-forwarded-for': `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`,
            'user-agent': `ghost-agent-${n}`,
          };
          const path = n % 2 === 0
            ? `/pools/ghost-${n}/lock/acquire`
            : `/pools/p/lock/ghost-slot-${n}/renew`;
          const { status } = await site.call('POST', path, headers);
          expect(status).toBe(n % 2 === 0 ? 401 : 404);
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, one));
      site.seen = '';
    };
    // What every kind of call brings is there after the first ones.
    await some(100);
    const before = await site.series();
    await some(CALLS);
    expect(await site.series()).toEqual(before);
    await site.server.stop();
    for (const place of [site.files(), site.server.out]) expect(place).not.toContain('ghost-');
  });
});
