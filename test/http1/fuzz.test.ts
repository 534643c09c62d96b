import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { answersIn, Flow, ok, serve, settled, textOf } from '../support/caller.ts';
import { cut } from '../support/lines.ts';
import { type Asked, requestsIn } from '../support/strict_requests.ts';
import { latin1 } from '../support/latin1.ts';

const bytes = (maxLength: number) => fc.uint8Array({ maxLength }).map(latin1);
const places = fc.array(fc.nat(2000), { maxLength: 12 });
const target = fc.stringMatching(/^\/[a-z%0-9?=\xe9.]{0,12}$/);
const header = fc.tuple(
  fc.stringMatching(/^x-[A-Za-z0-9!#$%&'*+.^_`|~-]{1,8}$/),
  fc.stringMatching(/^[!-~\x80-\xff]?[\t\x20-\x7e\x80-\xff]{0,20}$/),
  fc.constantFrom('', ' ', ' \t'),
).map(([name, value, blank]) => `${name}:${blank}${value}${blank}\r\n`);

interface Sent extends Asked {
  readonly text: string;
}

const chunks = fc.array(
  fc.tuple(
    bytes(40).filter((text) => text !== ''),
    fc.constantFrom('', ';a', ' ;a="b c"', ';a=b;c'),
    fc.boolean(),
  ),
  { maxLength: 5 },
).map((all) => {
  const framed = all.map(([text, extension, isUpper]) => {
    const size = text.length.toString(16);
    return `${isUpper ? size.toUpperCase() : `0${size}`}${extension}\r\n${text}\r\n`;
  });
  return { framed: framed.join(''), text: all.map(([text]) => text).join('') };
});

/** A well-formed request, with what it says. */
const request: fc.Arbitrary<Sent> = fc.record({
  target,
  headers: fc.array(header, { maxLength: 4 }),
  blank: fc.constantFrom('', '\r\n'),
  body: fc.oneof(
    fc.constant({ lines: '', framed: '', text: '' }),
    bytes(300).map((text) => ({ lines: `Content-Length: ${text.length}\r\n`, framed: text, text })),
    bytes(20).map((text) => ({
      lines: `content-length:${text.length},${text.length}\r\n`,
      framed: text,
      text,
    })),
    fc.tuple(chunks, fc.constantFrom('', 'a: b\r\nc:\r\n')).map(([{ framed, text }, trailers]) => ({
      lines: 'transfer-encoding: Chunked\r\n',
      framed: `${framed}00;x\r\n${trailers}\r\n`,
      text,
    })),
  ),
}).map(({ target, headers, blank, body }) => {
  const method = body.lines === '' ? 'GET' : 'POST';
  const head = `${method} ${target} HTTP/1.1\r\nHost: h\r\n${headers.join('')}${body.lines}\r\n`;
  return { method, target, body: body.text, text: blank + head + body.framed };
});

/** Serves what reads all bodies, by answers of all kinds, and notes what it was asked. */
function echoing(isSync: boolean) {
  const asked: Asked[] = [];
  const served = serve(({ method, target, body }) => {
    if (isSync && body === null) {
      asked.push({ method, target, body: '' });
      return ok('sync');
    }
    const one: { method: string; target: string; body: string | null } = {
      method,
      target,
      body: null,
    };
    asked.push(one);
    return textOf(body).then((text) => {
      one.body = text;
      const flow = new Flow(text.length % 2 === 0 ? text.length : null).gives(text, null);
      return ok(text.length % 3 === 0 ? text : flow);
    });
  });
  return { ...served, served, reached: asked };
}

/** Until all that was given was read, or never will be. */
async function over(line: ReturnType<typeof serve>['line']): Promise<void> {
  for (let passes = 0; passes < 50 && line.hasUnread; passes++) await settled();
  await settled();
}

describe('requests that are well-formed', () => {
  it('come out as they went in, wherever they are cut', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(request, { minLength: 1, maxLength: 5 }),
        places,
        fc.boolean(),
        async (requests, at, isSync) => {
          const text = requests.map((each) => each.text).join('');
          const { line, reached } = echoing(isSync);
          line.gives(...cut(text, at));
          await over(line);
          const expected = requests.map(({ method, target, body }) => ({ method, target, body }));
          expect(reached).toEqual(expected);
          expect(answersIn(line.sent).map(({ status }) => status)).toEqual(requests.map(() => 200));
          expect(line.isClosed).toBe(false);
          // The reader that the next tests judge by agrees.
          expect(requestsIn(text)).toEqual(expected);
        },
      ),
      { numRuns: 400 },
    );
  });
});

describe('whatever comes', () => {
  const odd = fc.constantFrom(
    '\r',
    '\n',
    '\r\n',
    ' ',
    '\t',
    '\0',
    ':',
    ',',
    ';',
    '0',
    '1',
    '5',
    'a',
    '\x0b',
    '\x7f',
    '\x85',
    '\xa0',
    '-',
    '+',
    '"',
    '\r\n\r\n',
    '0\r\n\r\n',
    'chunked',
    'HTTP/1.0',
    'HTTP/1.1',
    ' HTTP/1.1',
    'Transfer-Encoding: chunked\r\n',
    'Transfer-Encoding : chunked\r\n',
    'transfer-encoding:\x0bchunked\r\n',
    'Transfer-Encoding: identity\r\n',
    'Transfer-Encoding: gzip, chunked\r\n',
    ' chunked',
    'Content-Length: 5\r\n',
    'Content-Length: 5, 5\r\n',
    'Content-Length: +5\r\n',
    'Content-Length: 05\r\n',
    'content-length : 3\r\n',
    'Content-Length:\r\n',
    'Content-Length: 5\n',
    ' x: y\r\n',
    'Host: b\r\n',
    'Connection: close\r\n',
    'Expect: 100-continue\r\n',
    'GET /x HTTP/1.1\r\nHost: x\r\n\r\n',
    'ffffffffffff',
    '0x5',
  );
  const like = fc.oneof(
    { weight: 8, arbitrary: request.map(({ text }) => text) },
    { weight: 1, arbitrary: odd },
    { weight: 1, arbitrary: bytes(20) },
  );
  // Anywhere, or at the beginning of a line, where most can go wrong.
  const change = fc.record({ at: fc.nat(400), isLine: fc.boolean(), length: fc.nat(2), odd });
  const mutated = fc.tuple(
    fc.array(like, { minLength: 1, maxLength: 5 }).map((parts) => parts.join('')),
    fc.constantFrom('1.1', '1.1', '1.1', '1.0', '1.0\r\nConnection: keep-alive', '1.2'),
    fc.array(change, { maxLength: 3 }),
  ).map(([text, version, changes]) =>
    changes.reduce((now, { at, isLine, length, odd }) => {
      const anywhere = at % (now.length + 1);
      const line = now.indexOf('\r\n', anywhere);
      return isLine && line >= 0
        ? now.slice(0, line + 2) + odd + now.slice(line + 2)
        : now.slice(0, anywhere) + odd + now.slice(anywhere + length);
    }, text.replace('1.1', version))
  );

  it('is never taken for more than a strict reader takes it for', async () => {
    let taken = 0;
    let refused = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.oneof({ weight: 9, arbitrary: mutated }, { weight: 1, arbitrary: bytes(200) }),
        places,
        fc.constantFrom('end', 'reset', 'stay'),
        fc.boolean(),
        async (text, at, how, isSync) => {
          const { line, reached, served } = echoing(isSync);
          line.gives(...cut(text, at));
          await over(line);
          const strict = requestsIn(text);
          expect(reached).toEqual(strict.slice(0, reached.length));
          const answers = answersIn(line.sent.replaceAll('HTTP/1.1 100 Continue\r\n\r\n', ''));
          expect(answers.length).toBeLessThanOrEqual(reached.length + 1);
          expect(line.hasUnread).toBe(false);
          taken += reached.length;
          refused += answers.filter(({ status }) => status === 400).length;
          if (how === 'stay') line.close();
          else line.ends(how);
          await served.run;
          await settled();
          expect(line.isClosed).toBe(true);
        },
      ),
      { numRuns: 1500 },
    );
    // Else it would have tried next to nothing.
    expect(taken).toBeGreaterThan(500);
    expect(refused).toBeGreaterThan(200);
  }, 60_000);

  it('is served no less for its being cut', async () => {
    await fc.assert(
      fc.asyncProperty(mutated, places, async (text, at) => {
        const whole = echoing(true);
        whole.line.gives(text);
        const pieces = echoing(true);
        pieces.line.gives(...cut(text, at));
        await over(whole.line);
        await over(pieces.line);
        expect(pieces.reached).toEqual(whole.reached);
        const bare = (sent: string) => sent.replaceAll('HTTP/1.1 100 Continue\r\n\r\n', '');
        expect(bare(pieces.line.sent)).toBe(bare(whole.line.sent));
        expect(pieces.line.isWriteClosed).toBe(whole.line.isWriteClosed);
        for (const { line, run } of [whole.served, pieces.served]) {
          line.ends();
          await run;
        }
      }),
      { numRuns: 500 },
    );
  }, 60_000);
});
