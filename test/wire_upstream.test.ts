import { describe, expect, it } from 'vitest';
import { UpstreamSpec } from '../src/wire_upstream.ts';

describe("an upstream's url", () => {
  it.each([
    'http://h:0',
    'http://h\\a',
    'http://h/a\\b',
    'http://h/a/../b',
    'http://h/./b',
    'http://h/%2e%2e/b',
    'http://h/ä',
    'http:/h',
    'ftp://h',
    'http://u@h',
    'http://h?q',
    'http://h#f',
    'http://',
  ])('is not %j, which would be asked otherwise than it is written', (url) => {
    const { error } = UpstreamSpec.safeParse({ url });
    expect(error?.issues).toMatchObject([{ path: ['url'] }]);
  });

  it.each([
    'http://h',
    'http://h/',
    'HTTPS://H.test:8443/v1/',
    'http://[::1]:81/a%20b/~x;y=1,2/',
    'http://127.0.0.1/..a/b..',
    'https://xn--bcher-kva.test',
  ])('may be %j', (url) => {
    expect(UpstreamSpec.safeParse({ url }).success).toBe(true);
  });
});
