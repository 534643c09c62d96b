/** A head that follows another on its connection is read as if it had come first. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Connection } from '../../src/http1/connection.ts';
import { Incoming } from '../../src/http1/incoming.ts';
import { Requests } from '../../src/http1/requests.ts';
import { cut, MemoryLine } from '../support/lines.ts';
import { latin1 } from '../support/latin1.ts';

const LINES = 'Host: h.test\r\nX-Key: k\r\nContent-Length: 0\r\n';
const FIRST = `POST /first HTTP/1.1\r\n${LINES}\r\n`;

/** All that is said of the requests in what came in these pieces, the first `skip` left out. */
async function read(pieces: readonly string[], skip = 0): Promise<unknown[]> {
  const connection = new Connection(new MemoryLine().gives(...pieces).ends());
  const requests = new Requests(connection);
  const found: unknown[] = [];
  for (;;) {
    const next = requests.next();
    if (next === null) {
      if (!await connection.fill()) return found.slice(skip);
      continue;
    }
    if (!(next instanceof Incoming)) return [...found, String(next)].slice(skip);
    const { method, target, authority, minor, headBytes, framing, isKeepAlive } = next;
    const headers = [...next.headers];
    const isAwaited = next.body?.isAwaited;
    found.push({ method, target, authority, minor, headBytes, framing, isKeepAlive, headers });
    found.push(isAwaited, connection.aheadBytes);
    try {
      while (next.body?.isRead === false) found.push(latin1(await next.body.read() as Uint8Array));
    } catch (error) {
      return [...found, String(error)].slice(skip);
    }
  }
}

const SECONDS: readonly string[] = [
  FIRST,
  `GET /second?x=1 HTTP/1.1\r\n${LINES}\r\n`,
  `OPTIONS * HTTP/1.1\r\n${LINES}\r\n`,
  `GET http://other.test/abs HTTP/1.1\r\n${LINES}\r\n`,
  `POST /first HTTP/1.0\r\n${LINES}\r\n`,
  `\r\n${FIRST}`,
  `\n${FIRST}`,
  `\r${FIRST}`,
  `POST /fi\rst HTTP/1.1\r\n${LINES}\r\n`,
  `POST /fi\nst HTTP/1.1\r\n${LINES}\r\n`,
  `POST /fi\0st HTTP/1.1\r\n${LINES}\r\n`,
  `POST /first\r\n${LINES}\r\n`,
  `POST /first HTTP/1.1\n${LINES}\r\n`,
  `POST /first HTTP/1.1\r\n${LINES}X-More: 1\r\n\r\n`,
  `POST /first HTTP/1.1\r\nX-Before: 1\r\n${LINES}\r\n`,
  `POST /first HTTP/1.1\r\n${LINES.replace('0', '1')}\r\na`,
  `POST /first HTTP/1.1\r\n${LINES.replace('Key: k', 'Key: l')}\r\n`,
  `POST /first HTTP/1.1\r\n${LINES}`,
  `POST /${'long'.repeat(300)} HTTP/1.1\r\n${LINES}\r\n`,
  `\x16\x03\x01 ${LINES}\r\n`,
];

it.each(SECONDS)('what follows is read as if it came first: %j', async (second) => {
  const alone = await read([second]);
  const firstAlone = await read([FIRST]);
  expect(await read([FIRST, second], firstAlone.length)).toEqual(alone);
  for (let at = 1; at < second.length; at += 7) {
    expect(await read([FIRST, ...cut(second, [at])], firstAlone.length)).toEqual(alone);
  }
});

it('any bytes changed, left out or put in are read as if they came first', async () => {
  const heads = fc.constantFrom(FIRST, ...SECONDS.filter((text) => text.length < 200));
  const spots = fc.tuple(fc.nat(200), fc.nat(2), fc.constantFrom('', '\r', '\n', ' ', ':', 'x'));
  await fc.assert(
    fc.asyncProperty(heads, fc.array(spots, { maxLength: 2 }), async (head, changes) => {
      let second = head;
      for (const [at, gone, put] of changes) {
        second = second.slice(0, at) + put + second.slice(at + gone);
      }
      const skip = (await read([FIRST])).length;
      expect(await read([FIRST, second], skip)).toEqual(await read([second]));
    }),
    { numRuns: 1000 },
  );
});

it('headers that come again byte for byte are not read again', async () => {
  const line = new MemoryLine();
  const connection = new Connection(line);
  const requests = new Requests(connection);
  const headersOf = async (text: string) => {
    line.gives(text);
    await connection.fill();
    return (requests.next() as Incoming).headers;
  };
  const first = await headersOf(FIRST);
  expect(await headersOf(FIRST.replace('/first', '/second'))).toBe(first);
  expect(await headersOf(FIRST.replace('Key: k', 'Key: l'))).not.toBe(first);
});

it.each([
  ['POST', 'Transfer-Encoding: chunked', '3\r\nabc\r\n0\r\n\r\n'],
  ['POST', 'Content-Length: 3', 'abc'],
  ['GET', 'Connection: close', ''],
  ['GET', 'Connection: keep-alive', ''],
  ['PUT', 'Expect: 100-continue\r\nContent-Length: 3', 'abc'],
])(
  '%s with %j says the same when it comes again, in either version',
  async (method, lines, body) => {
    const [older, newer] = [0, 1].map((minor) =>
      `${method} / HTTP/1.${minor}\r\nHost: h\r\n${lines}\r\n\r\n${body}`
    ) as [string, string];
    for (
      const [first, second] of [[newer, newer], [newer, older], [older, older], [older, newer]]
    ) {
      // After what is malformed nothing more is read.
      if (first === older && lines.startsWith('Transfer')) continue;
      const skip = (await read([first as string])).length;
      const alone = await read([second as string]);
      expect(await read([first as string, second as string], skip)).toEqual(alone);
    }
  },
);
