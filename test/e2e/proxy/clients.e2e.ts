/**
 * Real clients through the proxy, unchanged: only their base URL points at a pool.
 */
import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { canary } from '../canary.ts';
import { freePort, holds } from './raw.ts';
import { ProxyServer } from './server.ts';

const run = promisify(execFile);
const credential = canary('credential');
const server = new ProxyServer();
const folder = mkdtempSync(join(tmpdir(), 'proxy-clients-'));
const upstreams: Server[] = [];

/** Each pool has a listener of its own, since not every client finds `*.localhost`. */
const ports = new Map<string, number>();

beforeAll(async () => {
  for (const name of ['curl', 'openai', 'git', 'git-key', 'npm', 'events']) {
    ports.set(name, await freePort());
  }
  const listen = [...ports].map(([name, port]) => `${name}=127.0.0.1:${port}`);
  await server.start(['--pool-listen', listen.join(',')]);
});
afterAll(() => {
  for (const upstream of upstreams) upstream.close();
  upstreams.forEach((upstream) => upstream.closeAllConnections());
  rmSync(folder, { recursive: true, force: true });
});

async function pool(
  name: string,
  answer: (request: IncomingMessage, response: ServerResponse) => void,
  more: Record<string, unknown> = {},
): Promise<string> {
  const upstream = createServer(answer);
  upstreams.push(upstream);
  await new Promise<void>((done) => upstream.listen(0, '127.0.0.1', done));
  await server.pool(name, (upstream.address() as AddressInfo).port, { limit: 4, ...more });
  return `http://127.0.0.1:${ports.get(name)}`;
}

async function curl(...args: string[]): Promise<string> {
  const { stdout } = await run('curl', ['-sS', '--max-time', '20', ...args], {
    encoding: 'latin1',
    maxBuffer: 100_000_000,
  });
  return stdout;
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  return Buffer.concat(pieces);
}

describe('curl', () => {
  const file = Buffer.from(Array.from({ length: 300_000 }, (_, at) => (at * 7) & 0xff));
  let base = '';

  beforeAll(async () => {
    base = await pool('curl', async (request, response) => {
      if (request.method === 'PUT') {
        const body = await bodyOf(request);
        response.end(`${body.length} ${request.headers['transfer-encoding'] ?? 'length'}`);
        return;
      }
      const [, from] = /^bytes=(\d+)-$/.exec(request.headers.range ?? '') ?? [];
      const rest = file.subarray(Number(from ?? 0));
      const range = `bytes ${from}-${file.length - 1}/${file.length}`;
      response.writeHead(from === undefined ? 200 : 206, {
        'content-length': rest.length,
        ...(from === undefined ? {} : { 'content-range': range }),
      });
      response.end(rest);
    });
    writeFileSync(join(folder, 'upload'), file);
  });

  it('downloads', async () => {
    expect(await curl(`${base}/file`)).toBe(file.toString('latin1'));
  });

  it('resumes a download', async () => {
    const part = join(folder, 'part');
    writeFileSync(part, file.subarray(0, 100_000));
    await curl('-C', '-', '-o', part, `${base}/file`);
    expect(readFileSync(part).equals(file)).toBe(true);
  });

  it('uploads in chunks, and with a length after 100-continue', async () => {
    const upload = join(folder, 'upload');
    const chunked = ['-T', upload, '-H', 'Transfer-Encoding: chunked', '-H', 'Content-Length:'];
    expect(await curl(...chunked, `${base}/up`)).toBe('300000 chunked');
    const waiting = ['-T', upload, '-H', 'Expect: 100-continue'];
    expect(await curl(...waiting, `${base}/up`)).toBe('300000 length');
  });

  it('gets a refusal that tells why', async () => {
    await server.admin('POST', '/pools/curl/pause', {});
    const text = await curl('-i', '-H', 'X-Nthpool-No-Queue: 1', `${base}/file`);
    await server.admin('POST', '/pools/curl/resume');
    expect(text).toMatch(/^HTTP\/1\.1 429/);
    expect(text).toContain('x-nthpool-error: too_many_requests');
    expect(text).toMatch(/retry-after: \d+\r\n/);
  });
});

describe('the openai SDK', () => {
  let base = '';
  const seen: (string | undefined)[] = [];

  beforeAll(async () => {
    base = await pool('openai', async (request, response) => {
      seen.push(request.headers.authorization);
      const { stream } = JSON.parse(String(await bodyOf(request)));
      if (stream !== true) {
        response.setHeader('content-type', 'application/json');
        response.end(JSON.stringify({ id: 'c', choices: [{ message: { content: 'hello' } }] }));
        return;
      }
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const word of ['one ', 'two ', 'three']) {
        const event = { id: 'c', choices: [{ index: 0, delta: { content: word } }] };
        response.write(`data: ${JSON.stringify(event)}\n\n`);
        await new Promise((done) => setTimeout(done, 30));
      }
      response.end('data: [DONE]\n\n');
    }, {
      access: { key: { required: true, authorization: ['Bearer'] } },
      upstream: {
        credentials: [{ name: 'a', header: 'Authorization', value: `Bearer ${credential}` }],
      },
    });
  });

  it('streams, with the pool key as its API key and the real one put in', async () => {
    const { key } = await server.admin('POST', '/pools/openai/keys', { name: 'sdk' });
    const client = new OpenAI({
      apiKey: String(key),
      baseURL: `${base}/v1`,
      maxRetries: 0,
    });
    const ask = { model: 'm', messages: [{ role: 'user' as const, content: 'hi' }] };
    const whole = await client.chat.completions.create(ask);
    expect(whole.choices[0]?.message.content).toBe('hello');
    let text = '';
    for await (const event of await client.chat.completions.create({ ...ask, stream: true })) {
      text += event.choices[0]?.delta.content ?? '';
    }
    expect(text).toBe('one two three');
    expect(seen).toEqual([`Bearer ${credential}`, `Bearer ${credential}`]);
    expect(await server.admin('GET', '/pools/openai')).toMatchObject({
      upstream: { credentials: [{ name: 'a', header: 'authorization', secretSet: true }] },
    });
  });
});

describe('git', () => {
  it('clones over smart HTTP', async () => {
    const git = (...args: string[]) => run('git', args, { cwd: folder, env: gitEnvironment });
    await git('init', '-q', '--bare', 'origin.git');
    await git('-C', 'origin.git', 'config', 'http.receivepack', 'true');
    const base = await pool('git', gitBackend);
    const url = `${base}/origin.git`;
    await git('clone', '-q', url, 'first');
    writeFileSync(join(folder, 'first/a.bin'), Buffer.alloc(2_000_000, 'xyz'));
    await git('-C', 'first', 'add', '.');
    await git('-C', 'first', 'commit', '-qm', 'one');
    await git('-C', 'first', '-c', 'http.postBuffer=1000', 'push', '-q', 'origin', 'HEAD');
    await git('clone', '-q', url, 'second');
    const [one, two] = ['first', 'second'].map((name) => readFileSync(join(folder, name, 'a.bin')));
    expect(one?.equals(two ?? Buffer.alloc(0))).toBe(true);
  });

  it('sends the pool key as a password once it is asked for', async () => {
    const git = (...args: string[]) => run('git', args, { cwd: folder, env: gitEnvironment });
    await git('init', '-q', '--bare', 'guarded.git');
    const access = { key: { authorization: ['Nthbouncer', 'Basic'] } };
    const base = await pool('git-key', gitBackend, { access });
    const { key } = await server.admin('POST', '/pools/git-key/keys', { name: 'git' });
    const url = new URL(`${base}/guarded.git`);
    await expect(git('clone', '-q', url.href, 'refused')).rejects.toThrow(
      'could not read Username',
    );
    url.username = 'anybody';
    url.password = String(key);
    await git('clone', '-q', url.href, 'guarded');
    expect(readFileSync(join(folder, 'guarded/.git/HEAD'), 'utf8')).toMatch(/^ref: /);
    const asked = await curl('-i', '--anyauth', '-u', `anybody:${key}`, `${base}/guarded.git/HEAD`);
    expect(asked).toMatch(/^HTTP\/1\.1 401[^]*\r\n\r\n[^]*HTTP\/1\.1 200/);
  });

  const gitEnvironment = {
    ...process.env,
    HOME: folder,
    GIT_TERMINAL_PROMPT: '0',
    GIT_AUTHOR_NAME: 'a',
    GIT_AUTHOR_EMAIL: 'a@example.com',
    GIT_COMMITTER_NAME: 'a',
    GIT_COMMITTER_EMAIL: 'a@example.com',
  };

  /** `git http-backend` as a CGI program. */
  function gitBackend(request: IncomingMessage, response: ServerResponse): void {
    const url = new URL(request.url ?? '/', 'http://git');
    const child = spawn('git', ['http-backend'], {
      env: {
        ...process.env,
        GIT_PROJECT_ROOT: folder,
        GIT_HTTP_EXPORT_ALL: '1',
        PATH_INFO: url.pathname,
        QUERY_STRING: url.search.slice(1),
        REQUEST_METHOD: request.method ?? 'GET',
        CONTENT_TYPE: request.headers['content-type'] ?? '',
        HTTP_CONTENT_ENCODING: String(request.headers['content-encoding'] ?? ''),
        GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
      },
    });
    request.pipe(child.stdin);
    const pieces: Buffer[] = [];
    child.stdout.on('data', (piece) => pieces.push(piece));
    child.on('close', () => {
      const text = Buffer.concat(pieces);
      const end = text.indexOf('\r\n\r\n');
      const lines = text.subarray(0, end).toString().split('\r\n');
      for (const line of lines) {
        const [name = '', value = ''] = line.split(': ');
        if (name === 'Status') response.statusCode = Number(value.slice(0, 3));
        else response.setHeader(name, value);
      }
      response.end(text.subarray(end + 4));
    });
  }
});

describe('npm', () => {
  it('installs from a registry behind a pool', async () => {
    const work = mkdtempSync(join(folder, 'npm-'));
    writeFileSync(join(work, 'package.json'), '{"name":"work","version":"1.0.0"}');
    const source = mkdtempSync(join(folder, 'tiny-'));
    writeFileSync(join(source, 'package.json'), '{"name":"tiny","version":"1.2.3"}');
    await run('npm', ['pack', '--silent', source], { cwd: folder });
    const tarball = readFileSync(join(folder, 'tiny-1.2.3.tgz'));
    const base: string = await pool('npm', (request, response) => {
      if (request.url?.endsWith('.tgz')) return void response.end(tarball);
      if (request.url !== '/tiny') return void response.writeHead(404).end('{}');
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({
        name: 'tiny',
        'dist-tags': { latest: '1.2.3' },
        versions: {
          '1.2.3': { name: 'tiny', version: '1.2.3', dist: { tarball: `${base}/tiny.tgz` } },
        },
      }));
    });
    const cache = join(folder, 'cache');
    const flags = ['--registry', base, '--no-audit', '--no-fund', '--cache', cache];
    await run('npm', ['install', 'tiny', ...flags], { cwd: work });
    const installed = readFileSync(join(work, 'node_modules/tiny/package.json'), 'utf8');
    expect(JSON.parse(installed).version).toBe('1.2.3');
  });
});

describe('server-sent events', () => {
  it('of 200 streams at once come as they are sent', async () => {
    const base = await pool('events', (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      let count = 0;
      const timer = setInterval(() => {
        response.write(`data: ${count}\n\n`);
        if (++count < 10) return;
        clearInterval(timer);
        response.end();
      }, 100);
    }, { limit: 200, concurrency: { limit: 200 } });
    let open = 0;
    const streams = Array.from({ length: 200 }, async () => {
      const response = await fetch(base);
      open++;
      return await response.text();
    });
    expect(await holds(() => open === 200, 5000)).toBe(true);
    const wanted = Array.from({ length: 10 }, (_, at) => `data: ${at}\n\n`).join('');
    expect(new Set(await Promise.all(streams))).toEqual(new Set([wanted]));
    expect(await server.capacityWithin('events', 200)).toBe(200);
  });
});
