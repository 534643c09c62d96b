/**
 * A server and an upstream that answers what a test plays, for one test file: both are there before
 * its first test and end with its last, and each test begins with nothing recorded.
 */
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import { answering, plain, RawCaller, RawUpstream } from './raw.ts';
import { ProxyServer } from './server.ts';

export function stage(): { server: ProxyServer; upstream: RawUpstream } {
  const server = new ProxyServer();
  const upstream = new RawUpstream(answering(plain()));
  beforeAll(async () => {
    await upstream.listen();
    await server.start();
  });
  afterAll(() => {
    upstream.close();
  });
  beforeEach(() => {
    upstream.requests.length = 0;
    upstream.play = answering(plain());
  });
  return { server, upstream };
}

/** What names the pool `echo`. */
export const HOST = 'Host: echo.localhost\r\n';

/** Names and values of headers, of every byte that may stand in them. */
export const name = fc.string({ unit: fc.constantFrom(..."abcXYZ09-_.!#$%&'*+^`|~"), minLength: 1 })
  .map((text) => `z${text}`);
export const value = fc.string({
  unit: fc.integer({ min: 0x20, max: 0xff }).filter((code) => code !== 0x7f)
    .map((code) => String.fromCharCode(code)),
  maxLength: 60,
}).map((text) => text.replace(/^[ \t]+|[ \t]+$/g, ''));

/** A stage with the pool `echo`, whose upstream's paths lie below `/base/`. */
export function echoStage() {
  const { server, upstream } = stage();
  beforeAll(async () => {
    await server.pool('echo', upstream.port, {
      limit: 4,
      upstream: { url: `http://127.0.0.1:${upstream.port}/base/` },
    });
  });

  /** Sends a request as it is, and gives back what the upstream got and the caller received. */
  async function through(text: string, end: RegExp = /\r\n\r\nok$/) {
    const caller = new RawCaller(server.port).send(text);
    const received = await caller.until(end);
    caller.close();
    const [request] = upstream.requests;
    const [line = '', ...rest] = (request?.head ?? '').slice(0, -4).split('\r\n');
    return { received, line, headers: rest, body: request?.body ?? '' };
  }

  return { server, upstream, through };
}
