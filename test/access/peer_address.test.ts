import { describe, expect, test } from 'vitest';
import { AddressReader } from '../../src/access/peer_address.ts';
import { peerOf } from '../support/server.ts';
import { World } from './support.ts';

const LOOPBACK = ['127.0.0.1/32', '::1'];

function read(from: string, headers: HeadersInit, trustedProxies: readonly string[] = LOOPBACK) {
  const reader = new AddressReader({ trustedProxies, clientIpHeader: 'x-forwarded-for' });
  const { kind, text } = reader.read(peerOf(from), new Headers(headers));
  return text ?? kind;
}

describe('X-Forwarded-For', () => {
  test.each([
    ['10.1.1.1', '10.1.1.1'],
    ['10.1.1.1, 203.0.113.9', '203.0.113.9'],
    ['10.1.1.1,203.0.113.9,127.0.0.1', '203.0.113.9'],
    ['junk, 203.0.113.9', '203.0.113.9'],
    ['203.0.113.9, junk', 'unreadable'],
    ['203.0.113.9, junk, ::1', 'unreadable'],
    ['203.0.113.9,', 'unreadable'],
    ['', 'unreadable'],
    ['unknown', 'unreadable'],
    ['203.0.113.9:4711', '203.0.113.9'],
    ['[2001:db8::1]:4711', '2001:db8::1'],
    ['::ffff:203.0.113.9', '203.0.113.9'],
    ['127.0.0.1', '127.0.0.1'],
    ['::1, 127.0.0.1', '::1'],
  ])('%j by a trusted proxy is %s', (value, address) => {
    expect(read('127.0.0.1', { 'x-forwarded-for': value })).toBe(address);
    expect(read('::ffff:127.0.0.1', { 'x-forwarded-for': value })).toBe(address);
  });

  test('several lines are read as one, in order', () => {
    const lines: [string, string][] = [
      ['x-forwarded-for', '10.1.1.1'],
      ['x-forwarded-for', '203.0.113.9'],
    ];
    expect(read('127.0.0.1', lines)).toBe('203.0.113.9');
  });

  test('means nothing from any other peer, and neither does any header like it', () => {
    for (
      const name of [
        'x-forwarded-for',
        'forwarded',
        'x-real-ip',
        'cf-connecting-ip',
        'true-client-ip',
      ]
    ) {
      expect(read('192.0.2.1', { [name]: '10.1.1.1' })).toBe('192.0.2.1');
      if (name !== 'x-forwarded-for') {
        expect(read('127.0.0.1', { [name]: '10.1.1.1' })).toBe('127.0.0.1');
      }
    }
    expect(read('127.0.0.1', { 'x-forwarded-for': '10.1.1.1' }, [])).toBe('127.0.0.1');
  });
});

test('CF-Connecting-IP is one address, and the only header that is read then', () => {
  const reader = new AddressReader({
    trustedProxies: LOOPBACK,
    clientIpHeader: 'cf-connecting-ip',
  });
  const of = (headers: HeadersInit) => reader.read(peerOf('::1'), new Headers(headers)).text;
  expect(of({ 'cf-connecting-ip': '203.0.113.9' })).toBe('203.0.113.9');
  expect(of([['cf-connecting-ip', '203.0.113.9'], ['cf-connecting-ip', '10.0.0.1']])).toBeNull();
  expect(of({ 'x-forwarded-for': '203.0.113.9' })).toBe('::1');
});

test('a peer without an address is none', () => {
  const reader = new AddressReader({ trustedProxies: [], clientIpHeader: 'x-forwarded-for' });
  const kindOf = (remoteAddr: { transport: string; hostname?: string }) =>
    reader.read({ remoteAddr }, new Headers()).kind;
  expect(kindOf({ transport: 'unix' })).toBe('none');
  expect(kindOf({ transport: 'unix', hostname: '127.0.0.1' })).toBe('none');
  expect(kindOf({ transport: 'tcp' })).toBe('none');
  expect(kindOf({ transport: 'tcp', hostname: 'somewhere' })).toBe('none');
});

describe('the address policy', () => {
  async function statusFrom(ip: object, from: string, headers: HeadersInit = {}) {
    const world = await World.open({ trustedProxies: ['127.0.0.1'] });
    await world.makePool({ ip });
    const key = await world.makeKey();
    const all = new Headers(headers);
    all.set('x-nthpool-key', key);
    return await world.status({ from, headers: all });
  }

  test('deny wins, and an empty allow list allows all', async () => {
    expect(await statusFrom({ deny: ['10.0.0.0/8'] }, '10.1.1.1')).toBe(403);
    expect(await statusFrom({ deny: ['10.0.0.0/8'] }, '11.1.1.1')).toBe(200);
    expect(await statusFrom({ allow: ['10.0.0.0/8'], deny: ['10.1.1.1'] }, '10.1.1.1')).toBe(403);
    expect(await statusFrom({ allow: ['10.0.0.0/8'], deny: ['10.1.1.1'] }, '10.1.1.2')).toBe(200);
    expect(await statusFrom({ allow: ['10.0.0.0/8'] }, '11.1.1.1')).toBe(403);
  });

  test('a mapped peer is judged as IPv4 in both directions', async () => {
    const v4 = { allow: ['127.0.0.1/32'] };
    expect(await statusFrom(v4, '127.0.0.1')).toBe(200);
    expect(await statusFrom(v4, '::ffff:127.0.0.1')).toBe(200);
    expect(await statusFrom(v4, '::1')).toBe(403);
    expect(await statusFrom({ allow: ['::1'] }, '127.0.0.1')).toBe(403);
    expect(await statusFrom({ allow: ['::ffff:127.0.0.1'] }, '127.0.0.1')).toBe(200);
    expect(await statusFrom({ deny: ['127.0.0.1'] }, '::ffff:7f00:1')).toBe(403);
  });

  test('a forwarded address that cannot be read fails where there is a list', async () => {
    const junk = { 'x-forwarded-for': 'junk' };
    expect(await statusFrom({ allow: ['0.0.0.0/0', '::/0'] }, '127.0.0.1', junk)).toBe(403);
    expect(await statusFrom({ deny: ['10.0.0.0/8'] }, '127.0.0.1', junk)).toBe(403);
    expect(await statusFrom({}, '127.0.0.1', junk)).toBe(200);
  });

  test('a spoofed left part does not help', async () => {
    const spoofed = { 'x-forwarded-for': '10.1.1.1, 203.0.113.9' };
    expect(await statusFrom({ allow: ['10.0.0.0/8'] }, '127.0.0.1', spoofed)).toBe(403);
    const real = { 'x-forwarded-for': '203.0.113.9, 10.1.1.1' };
    expect(await statusFrom({ allow: ['10.0.0.0/8'] }, '127.0.0.1', real)).toBe(200);
  });

  test('403 is told only to a caller that passes every other policy', async () => {
    const world = await World.open();
    await world.makePool({ ip: { allow: ['10.0.0.0/8'] } });
    const key = await world.makeKey();
    expect(await world.status({ from: '192.0.2.1' })).toBe(401);
    expect(await world.status({ from: '192.0.2.1', headers: { 'x-nthpool-key': 'x' } })).toBe(401);
    const answer = await world.ask({ from: '192.0.2.1', headers: { 'x-nthpool-key': key } });
    expect([answer.status, await answer.json()]).toEqual([403, {
      error: 'unauthorized',
      message: 'This address may not call this pool.',
    }]);
    expect(answer.headers.has('www-authenticate')).toBe(false);
    expect([...answer.headers.keys()].filter((name) => name.startsWith('x-nthpool'))).toEqual([]);
    expect(await world.reason()).toBe('address: not allowed');
  });

  test('the log shows the address that was judged', async () => {
    const world = await World.open({ trustedProxies: ['127.0.0.1'] });
    await world.makePool();
    const headers = {
      'x-nthpool-key': await world.makeKey(),
      'x-forwarded-for': '::ffff:203.0.113.9',
    };
    expect(await world.status({ headers })).toBe(200);
    const { entries } = await world.store.readLog({ pool: 'p', limit: 1 });
    expect(entries[0]?.address).toBe('203.0.113.9');
  });

  test('lists that are no addresses are refused, with the place', async () => {
    const world = await World.open();
    const answer = await world.makePool({ ip: { allow: ['10.0.0.0/33'] } });
    expect([answer.status, (await answer.json()).issues[0].path]).toEqual([
      400,
      'access.ip.allow.0',
    ]);
  });
});
