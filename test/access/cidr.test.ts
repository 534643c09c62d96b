import { describe, expect, test } from 'vitest';
import { AddressRanges, isCidr, isLoopback, plainAddress, plainHop } from '../../src/cidr.ts';

describe('plainAddress', () => {
  test.each([
    ['10.1.2.3', '10.1.2.3'],
    ['::ffff:10.1.2.3', '10.1.2.3'],
    ['::FFFF:0a01:0203', '10.1.2.3'],
    ['0:0:0:0:0:ffff:a01:203', '10.1.2.3'],
    ['::1', '::1'],
    ['0:0:0:0:0:0:0:1', '::1'],
    ['FE80::1%eth0', 'fe80::1'],
    ['2001:DB8::00A', '2001:db8::a'],
  ])('%s is %s', (text, plain) => expect(plainAddress(text)).toBe(plain));

  test.each([
    '',
    '010.0.0.1',
    '0x7f.1',
    '127.1',
    '2130706433',
    '1.2.3',
    '1.2.3.4.5',
    'localhost',
    '1.2.3.4%eth0',
    '1.2.3.256',
    ' 1.2.3.4',
    '1.2.3.4 ',
    '::1::',
    'unknown',
    '_hidden',
    '[::1]',
    '1.2.3.4:80',
  ])('%j is none', (text) => expect(plainAddress(text)).toBeNull());
});

describe('plainHop', () => {
  test.each([
    ['1.2.3.4:8080', '1.2.3.4'],
    ['[::1]:8080', '::1'],
    ['[::1]', '::1'],
    ['[::ffff:1.2.3.4]:80', '1.2.3.4'],
    ['::1', '::1'],
  ])('%s is %s', (text, plain) => expect(plainHop(text)).toBe(plain));

  test.each(['1.2.3.4:', '1.2.3.4:abc', '[::1', '::1]:80', '[1.2.3.4', 'a:80', '"1.2.3.4"'])(
    '%j is none',
    (text) => expect(plainHop(text)).toBeNull(),
  );
});

describe('isCidr', () => {
  test.each([
    '10.0.0.0/8',
    '10.1.2.3/8',
    '10.0.0.1',
    '::/0',
    '::ffff:0:0/96',
    '2001:db8::/32',
    '0.0.0.0/0',
  ])('%s is one', (text) => expect(isCidr(text)).toBe(true));
  test.each([
    '10.0.0.0/33',
    '10.0.0.0/-1',
    '10.0.0.0/08',
    '10.0.0.0/8/8',
    '10.0.0.0/255.0.0.0',
    '::/129',
    'fe80::1%eth0',
    '::ffff:1.2.3.4/40',
    'a/8',
    '',
    '10.0.0.0/',
  ])(
    '%j is none',
    (text) => expect(isCidr(text)).toBe(false),
  );
});

describe('AddressRanges', () => {
  test('a mapped range means the IPv4 range, and an IPv6 range holds no IPv4 address', () => {
    const has = (cidr: string, address: string) => new AddressRanges([cidr]).has(address);
    expect(has('::ffff:127.0.0.1', '127.0.0.1')).toBe(true);
    expect(has('::ffff:0:0/96', '203.0.113.9')).toBe(true);
    expect(has('::ffff:10.0.0.0/104', '10.9.9.9')).toBe(true);
    expect(has('::ffff:10.0.0.0/104', '11.0.0.0')).toBe(false);
    expect(has('::/0', '127.0.0.1')).toBe(false);
    expect(has('0.0.0.0/0', '::1')).toBe(false);
    expect(has('10.1.2.3/8', '10.200.0.1')).toBe(true);
    expect(has('2001:db8::/32', '2001:db8:ffff::1')).toBe(true);
  });

  test('an empty list holds nothing, and says that it is empty', () => {
    const none = new AddressRanges([]);
    expect([none.isEmpty, none.has('1.2.3.4')]).toEqual([true, false]);
    expect(new AddressRanges(['::1']).isEmpty).toBe(false);
  });

  test('what is no range is refused', () => {
    expect(() => new AddressRanges(['10.0.0.0/33'])).toThrow('neither an address nor a range');
  });
});

test('isLoopback', () => {
  expect(['127.0.0.1', '127.9.9.9', '::1'].every(isLoopback)).toBe(true);
  expect(['128.0.0.1', '::2', '10.0.0.1'].some(isLoopback)).toBe(false);
});
