/** What is asked of JSON before any schema sees it. */
import { expect, test } from 'vitest';
import { protoPath } from '../src/json.ts';

test.each([
  ['{"__proto__": 1}', '__proto__'],
  ['{"a": [{"b": {"__proto__": null}}]}', 'a.0.b.__proto__'],
  ['{"constructor": {"prototype": 1}, "a": "__proto__", "b": ["__proto__"]}', null],
  ['"__proto__"', null],
  ['null', null],
])('protoPath finds in %s: %s', (json, path) => {
  expect(protoPath(JSON.parse(json))).toBe(path);
});

test('protoPath goes to any depth', () => {
  const depth = 200_000;
  const json = '['.repeat(depth) + '{"__proto__":1}' + ']'.repeat(depth);
  expect(protoPath(JSON.parse(json))).toHaveLength(depth * 2 + 9);
});
