import { describe, expect, it } from 'vitest';
import { claimsOf, claimsText } from '../../src/admin/claims.ts';
import { formOf, jsonOfForm } from '../../src/http/form.ts';

const jsonOf = (...fields: [name: string, value: string][]) =>
  JSON.parse(JSON.stringify(jsonOfForm(formOf(new URLSearchParams(fields).toString()))));

describe('a form', () => {
  it('becomes what its fields say that they are', () => {
    expect(jsonOf(
      ['confirm', 'not a field'],
      ['a.n:int', '5'],
      ['a.none:int?', ' '],
      ['a.yes:bool', 'true'],
      ['a.text:text', ' x '],
      ['a.nothing:text?', ' '],
      ['a.lines:lines', ' b \r\n\r\nc '],
      ['a.checks:lines', ''],
      ['a.checks:lines', 'Basic'],
      ['a.unchecked:lines', ''],
      ['a.default:lines?', ''],
      ['a.json:json?', '{"keys": []}'],
    )).toEqual({
      a: {
        n: 5,
        none: null,
        yes: true,
        text: ' x ',
        nothing: null,
        lines: ['b', 'c'],
        checks: ['Basic'],
        unchecked: [],
        default: null,
        json: { keys: [] },
      },
    });
  });

  it('keeps a secret that is left empty, and takes one as it is', () => {
    expect(jsonOf(['a.one:secret', ''], ['a.two:secrets', ''], ['a.two:secrets', ''])).toEqual({});
    expect(jsonOf(['one:secret', ' s '], ['two:secrets', ''], ['two:secrets', ' t ']))
      .toEqual({ one: ' s ', two: [' t '] });
  });

  it('makes a rule that is off null, whatever its other fields are', () => {
    const fields: [string, string][] = [['a.jwks:json', '{'], ['a:one.jwks.secret', 'jwks']];
    expect(jsonOf(['a:on', ''], ...fields, ['ab:int', '1'])).toEqual({ a: null, ab: 1 });
    expect(() => jsonOf(['a:on', 'true'], ['a:on', ''], ...fields)).toThrow(SyntaxError);
  });

  it('makes the choices null that were not taken', () => {
    expect(
      jsonOf(['a:one.x.y.z', 'y'], ['a.x:text', 'typed'], ['a.y:text', 'Y'], ['a.z:secret', '']),
    )
      .toEqual({ a: { x: null, y: 'Y', z: null } });
  });

  it('makes a list of its rows, less the dropped and the empty', () => {
    expect(jsonOf(
      ['l.0.name:text', 'a'],
      ['l.0.value:secret', ''],
      ['l.1.name:text', 'b'],
      ['l.1:drop', 'true'],
      ['l.2.name:text', ''],
      ['l.2.value:secret', ''],
      ['l:list', ''],
    )).toEqual({ l: [{ name: 'a' }] });
    expect(jsonOf(['l:list', ''])).toEqual({ l: [] });
  });

  it('says which names are gone', () => {
    expect(jsonOf(['c:claims', 'a = 1'], ['c:known', '["a","b"]'])).toEqual({
      c: { a: 1, b: null },
    });
    expect(jsonOf(['c:claims', 'a'], ['c:known', '["a","b"]'])).toEqual({ c: ['a'] });
  });
});

describe('claims', () => {
  it.each([
    [[]],
    [['sub', 'a b', 'x=y', '"q"', ' pad ']],
    [{
      role: 'admin',
      n: 5,
      ok: true,
      text: 'true',
      five: '5',
      quoted: '"x"',
      pad: ' p ',
      none: '',
    }],
    [{ roles: ['a', 5, false], 'https://x/?a=b': 'c = d', lines: 'a\nb', '5': 'e' }],
  ])('%j is read back as it was shown', (claims) => {
    expect(JSON.parse(JSON.stringify(claimsOf(claimsText(claims))))).toEqual(claims);
  });

  it('with a value stand beside none without', () => {
    expect(() => claimsOf('a = 1\nb')).toThrow('the claim b has no value');
  });
});
