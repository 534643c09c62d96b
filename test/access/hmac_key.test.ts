import { createHmac } from 'node:crypto';
import { expect, test } from 'vitest';
import { HmacKey, isSameHex } from '../../src/access/hmac_key.ts';

test.each(['text', 'té\xff'])('HmacKey signs %j as HMAC-SHA256 does, at every length', (of) => {
  for (const keyLength of [1, 32, 63, 64, 65, 200]) {
    for (const textLength of [0, 1, 55, 64, 1365, 4096, 4097, 5000]) {
      const secret = 'kü'.repeat(keyLength).slice(0, keyLength);
      const text = of.repeat(textLength).slice(0, textLength);
      const key = new HmacKey(secret);
      const wanted = createHmac('sha256', secret).update(text, 'latin1').digest('hex');
      expect([key.sign(text), key.sign(text)]).toEqual([wanted, wanted]);
    }
  }
});

test('HmacKey signs a case of RFC 4231', () => {
  const signature = new HmacKey('Jefe').sign('what do ya want for nothing?');
  expect(signature).toBe('5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843');
});

test('isSameHex', () => {
  expect(isSameHex('ab', 'ab')).toBe(true);
  expect(['aa', 'bb', 'a', 'abc', ''].some((other) => isSameHex('ab', other))).toBe(false);
});
