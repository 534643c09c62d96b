import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Chunks } from '../../src/http1/chunks.ts';
import { latin1Bytes, MalformedError } from '../../src/http1/head.ts';
import { latin1 } from '../support/latin1.ts';

describe('Chunks', () => {
  /** The content of chunks that come in the given pieces; undefined where they do not end. */
  function content(pieces: readonly string[]): string | undefined {
    const chunks = new Chunks();
    let text = '';
    for (const piece of pieces) {
      let rest = latin1Bytes(piece);
      while (rest.length > 0 && !chunks.isDone) {
        const { taken, content: found } = chunks.take(rest);
        expect(taken).toBeGreaterThan(0);
        if (found !== null) text += latin1(found);
        rest = rest.subarray(taken);
      }
    }
    return chunks.isDone ? text : undefined;
  }

  it('reads any chunks, cut anywhere', () => {
    const piece = fc.string({ unit: 'binary-ascii', minLength: 1, maxLength: 40 });
    fc.assert(fc.property(
      fc.array(piece, { maxLength: 6 }),
      fc.array(fc.nat(300), { maxLength: 12 }),
      fc.constantFrom('', ';a=b', ' ;a="b"'),
      fc.constantFrom('', 'x: y\r\n'),
      (parts, places, extension, trailer) => {
        const framed = parts.map((text) =>
          `${text.length.toString(16)}${extension}\r\n${text}\r\n`
        );
        const text = `${framed.join('')}0${extension}\r\n${trailer}\r\n`;
        const ends = [...new Set([0, ...places, text.length])].filter((at) => at <= text.length)
          .sort((a, b) => a - b);
        const pieces = ends.slice(1).map((end, at) => text.slice(ends[at], end));
        expect(content(pieces)).toBe(parts.join(''));
        expect(content([...text])).toBe(parts.join(''));
      },
    ));
  });

  it.each([
    'zz\r\nab\r\n0\r\n\r\n',
    '2\nab\r\n0\r\n\r\n',
    '2\r\nabc\r\n0\r\n\r\n',
    '2\r\nab\n0\r\n\r\n',
    '-2\r\nab\r\n',
    '0x2\r\nab\r\n',
    '\r\n',
    ' 2\r\nab\r\n',
    '2 3\r\nab\r\n',
    'fffffffffffff\r\n',
    '2;a\nb\r\nab\r\n',
    '0\r\na\nb\r\n\r\n',
  ])('refuses %j', (text) => {
    expect(() => content([text])).toThrow(MalformedError);
    expect(() => content([...text])).toThrow(MalformedError);
  });

  it('refuses extensions and trailers without bound', () => {
    expect(() => content([`2;${'a'.repeat(5000)}\r\nab\r\n`])).toThrow(MalformedError);
    expect(() => content([`0\r\n${'a: b\r\n'.repeat(4000)}\r\n`])).toThrow(MalformedError);
  });
});
