import { describe, expect, it } from 'vitest';
import { answerHeaders } from '../../src/http/answer_headers.ts';
import { CarriedSecrets } from '../../src/http/carried_secrets.ts';
import { requestHead } from '../../src/http/request_head.ts';
import { HeaderLines } from '../../src/http1/header_lines.ts';
import { targetOf } from '../../src/upstream/target.ts';
import { UpstreamSpec } from '../../src/wire_upstream.ts';

/** The headers that the upstream gets. */
function sent(
  headers: readonly (readonly [string, string])[],
  { address = '127.0.0.1', forwarded = false, carriers = [] as readonly string[] } = {},
): string[] {
  const head = requestHead({
    method: 'GET',
    path: '/',
    headers: new HeaderLines(headers),
    host: 'p.localhost',
    target: targetOf(UpstreamSpec.parse({ url: 'http://up.test', forwarded })),
    credential: null,
    carriers,
    body: { kind: 'none' },
    peer: { address, isTls: false, isTrusted: false },
    isUpgrade: false,
  });
  return head.split('\r\n').slice(2, -2);
}

const OTHERS = ['nthbouncer2=keep', 'nthbouncer-x=keep', '__Host-nthbouncer_y=keep', 'x=1'];
const OWN = ['nthbouncer=id', '__Host-nthbouncer=id'];

describe('of cookies', () => {
  it('to the upstream ours are left out, and no other that begins like them', () => {
    const all = [OWN[0], ...OTHERS, OWN[1], 'CF_Authorization=t', 'nthbouncerx'];
    expect(sent([['Cookie', all.join('; ')]])).toEqual([
      `Cookie: ${[...OTHERS, 'nthbouncerx'].join('; ')}`,
    ]);
    expect(sent([['Cookie', OWN.join('; ')]])).toEqual([]);
  });

  /** Those that the caller gets. */
  function kept(cookies: readonly string[]): string[] {
    const text = answerHeaders({
      headers: new HeaderLines(cookies.map((cookie) => ['Set-Cookie', cookie])),
      own: '',
      baseDomain: 'acme.test',
      secrets: new CarriedSecrets([]),
      isLengthKept: false,
    });
    return text.split('\r\n').slice(0, -1).map((line) => line.slice('Set-Cookie: '.length));
  }

  it('from the upstream ours are left out, and no other that begins like them', () => {
    expect(kept([...OWN, ...OTHERS])).toEqual(OTHERS);
  });

  it('from the upstream those for the base domain or above it are left out', () => {
    const domains = ['acme.test', '.acme.test', 'ACME.test.', 'test', '"acme.test"', '.test.'];
    expect(kept(domains.map((domain) => `a=1; Path=/; Domain=${domain}`))).toEqual([]);
    const others = ['p.acme.test', 'p.acme.test.', 'me.test', 'acme.test.example', ''];
    const cookies = others.map((domain) => `a=1; Domain=${domain}; Path=/`);
    expect(kept(cookies)).toEqual(cookies);
  });
});

it('what carried a key is left out, whatever letter its name begins with', () => {
  const carriers = ['authorization', 'c-key', 'f-key', 'h-key', 'x-key', 'key'];
  // Shorter than what is found by its value alone.
  const lines = [...carriers, 'h-other'].map((name) => [name, 'short'] as const);
  expect(sent(lines, { carriers })).toEqual(['h-other: short']);
});

describe('the forwarding headers', () => {
  it.each([
    ['127.0.0.1', '127.0.0.1'],
    ['::ffff:127.0.0.1', '127.0.0.1'],
    ['2001:db8:0::1', '2001:db8::1'],
  ])('tell the peer %s as the log does: %s', (address, told) => {
    expect(sent([], { address, forwarded: true })[0]).toBe(`x-forwarded-for: ${told}`);
  });
});
