import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { latin1Bytes } from '../../../src/http1/head.ts';
import { Connections } from '../../../src/upstream/forward/connections.ts';
import { DialError, LoopError } from '../../../src/upstream/forward/dial.ts';
import { Exchange } from '../../../src/upstream/forward/exchange.ts';
import { ForwardError } from '../../../src/upstream/forward/forward_error.ts';
import type { Guard } from '../../../src/upstream/forward/guard.ts';
import { settled } from '../../support/caller.ts';
import { latin1 } from '../../support/latin1.ts';
import { cut, MemoryLine } from '../../support/lines.ts';
import { bench, HEAD, LIMITS, ORIGIN } from './bench.ts';

async function bodyOf(exchange: Exchange): Promise<string> {
  let text = '';
  for (;;) {
    const piece = await exchange.next();
    if (piece !== null) text += latin1(piece);
    if (exchange.isEnded) return text;
    if (piece === null) throw new Error('null before the end');
  }
}

/** One request on a line of its own that is answered so. */
async function ask(text: string | string[], end?: 'end' | 'reset') {
  const { lines, exchange, dial } = bench();
  const one = exchange();
  const answer = one.answer();
  answer.catch(() => {});
  await settled();
  expect(lines).toHaveLength(1);
  const [line] = lines as [MemoryLine];
  line.gives(...[text].flat());
  if (end !== undefined) line.ends(end);
  return { answer, one, line, dial };
}

const INTERIM = 'HTTP/1.1 102 X\r\n\r\n';
const CHUNKED = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n';

describe('an exchange', () => {
  it('reads the same answer wherever it is cut', async () => {
    const samples = [
      `${INTERIM.repeat(100)}HTTP/1.1 200 OK\r\ncontent-length: 11\r\n\r\nhello world`,
      `${CHUNKED}5\r\nhello\r\n6;x\r\n world\r\n0\r\nt: 1\r\n\r\n`,
    ];
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...samples),
        fc.array(fc.nat(120), { maxLength: 20 }),
        async (text, places) => {
          const { answer, one, line } = await ask(cut(text, places));
          expect((await answer).status).toBe(200);
          expect(await bodyOf(one)).toBe('hello world');
          expect(line.isClosed).toBe(false);
        },
      ),
      { numRuns: 300 },
    );
  });

  it.each(['SSH-2.0-foo\r\n', 'HTTP/2', '\x15\x03', '\r\n'])(
    'fails at once where an answer begins with %j',
    async (text) => {
      const { answer, line } = await ask(text);
      await expect(answer).rejects.toMatchObject({ code: 'upstream_unreachable' });
      expect(line.isClosed).toBe(true);
    },
  );

  it('has a body at once that came with its head', async () => {
    const { answer, one, line } = await ask('HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\none');
    await answer;
    expect([one.isWhole, one.isEnded]).toEqual([true, false]);
    expect(latin1(one.takeWhole() ?? latin1Bytes('none'))).toBe('one');
    expect([one.isEnded, one.bytesOut, line.isClosed]).toEqual([true, 3, false]);
    expect(one.takeWhole()).toBe(null);

    const empty = await ask('HTTP/1.1 204 X\r\n\r\n');
    await empty.answer;
    expect([empty.one.isWhole, empty.one.takeWhole()]).toEqual([true, null]);

    const late = await ask('HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\non');
    await late.answer;
    expect(late.one.isWhole).toBe(false);

    const ended = await ask('HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\none');
    await ended.answer;
    ended.one.abort('stall');
    expect(() => ended.one.takeWhole()).toThrow(ForwardError);
  });

  it('gives its connection to the next one', async () => {
    const { lines, exchange, dial } = bench();
    for (const word of ['one', 'two']) {
      const one = exchange();
      const answer = one.answer();
      await vi.waitFor(() => expect(lines[0]?.sent.endsWith(HEAD)).toBe(true));
      lines[0]?.gives(`HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\n${word}`);
      await answer;
      expect(await bodyOf(one)).toBe(word);
      lines[0]!.sent = '';
    }
    expect(dial).toHaveBeenCalledTimes(1);
  });

  it.each([
    ['bytes left over', 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nab'],
    ['connection: close', 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\nconnection: close\r\n\r\na'],
    ['HTTP/1.0', 'HTTP/1.0 200 OK\r\ncontent-length: 1\r\n\r\na'],
  ])('closes a connection after %s', async (_, text) => {
    const { answer, one, line } = await ask(text);
    await answer;
    expect(await bodyOf(one)).toBe('a');
    expect(line.isClosed).toBe(true);
  });

  it.each([
    ['204 with a length', 'HTTP/1.1 204 X\r\ncontent-length: 5\r\n\r\n'],
    ['204 in chunks', 'HTTP/1.1 204 X\r\ntransfer-encoding: chunked\r\n\r\n'],
    ['304 in chunks', 'HTTP/1.1 304 X\r\ntransfer-encoding: chunked\r\n\r\n'],
  ])('closes a connection on which the body of a %s may follow', async (_, text) => {
    const { answer, line } = await ask(text);
    await answer;
    expect(line.isClosed).toBe(true);
  });

  it('keeps a connection after 204 and 304 without a body', async () => {
    for (const text of ['204 X\r\ncontent-length: 0\r\n', '304 X\r\ncontent-length: 5\r\n']) {
      const { answer, line } = await ask(`HTTP/1.1 ${text}\r\n`);
      await answer;
      expect(line.isClosed).toBe(false);
    }
  });

  it('drops an idle connection that speaks without being asked, or ends', async () => {
    for (
      const disturb of [(line: MemoryLine) => line.gives('x'), (line: MemoryLine) => line.ends()]
    ) {
      const { lines, exchange, dial, clock } = bench();
      const first = exchange().answer();
      await vi.waitFor(() => expect(lines).toHaveLength(1));
      lines[0]?.gives('HTTP/1.1 204 X\r\n\r\n');
      await first;
      clock.nowMs += 1000;
      disturb(lines[0] as MemoryLine);
      const second = exchange().answer();
      await vi.waitFor(() => expect(lines).toHaveLength(2));
      lines[1]?.gives('HTTP/1.1 204 X\r\n\r\n');
      expect((await second).status).toBe(204);
      expect(dial).toHaveBeenCalledTimes(2);
      expect(lines[0]?.isClosed).toBe(true);
    }
  });

  it('never takes for its answer what came unasked in the moment in which it began', async () => {
    const { lines, exchange } = bench();
    const first = exchange().answer();
    await vi.waitFor(() => expect(lines[0]?.sent).toBe(HEAD));
    lines[0]?.gives('HTTP/1.1 204 X\r\n\r\n');
    await first;
    lines[0]?.gives('HTTP/1.1 200 OK\r\nx-poison: 1\r\ncontent-length: 0\r\n\r\n');
    const second = exchange().answer();
    await vi.waitFor(() => expect(lines[1]?.sent).toBe(HEAD));
    lines[1]?.gives('HTTP/1.1 204 X\r\n\r\n');
    expect((await second).status).toBe(204);
    expect(lines[0]).toMatchObject({ isClosed: true, sent: HEAD });
  });

  it.each([
    ['ends before it answers', '', 'end'],
    ['breaks before it answers', '', 'reset'],
    ['ends in the head', 'HTTP/1.1 200 OK\r\nA:', 'end'],
    ['answers what is not HTTP', 'no\r\n\r\n', undefined],
    ['switches protocols unasked', 'HTTP/1.1 101 X\r\nupgrade: x\r\n\r\n', undefined],
  ])('fails, and is sent once, where the upstream %s', async (_, text, end) => {
    const { answer, line, dial } = await ask(text, end as 'end' | undefined);
    await expect(answer).rejects.toMatchObject({ code: 'upstream_unreachable' });
    expect(line.sent).toBe(HEAD);
    expect(line.isClosed).toBe(true);
    expect(dial).toHaveBeenCalledTimes(1);
  });

  it.each([
    ['length', 'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc', 'end'],
    ['chunks', `${CHUNKED}3\r\nabc\r\n`, 'end'],
    ['bad chunks', `${CHUNKED}3\r\nabcX`, undefined],
    ['an end that is a reset', 'HTTP/1.1 200 OK\r\n\r\nabc', 'reset'],
  ])('never takes a body for whole that is cut: %s', async (_, text, end) => {
    const { answer, one, line } = await ask(text, end as 'end' | undefined);
    await answer;
    await expect(bodyOf(one)).rejects.toBeInstanceOf(ForwardError);
    expect(one.isEnded).toBe(false);
    expect(line.isClosed).toBe(true);
  });

  it('never throws anything but its own error, and never hangs on a line that ends', async () => {
    const any = fc.array(
      fc.constantFrom(
        'HTTP/1.1 200 OK\r\n',
        'content-length: 3\r\n',
        '\r\n',
        'abc',
        CHUNKED,
        '0',
        '1',
      ),
      { maxLength: 8 },
    ).map((parts) => parts.join(''));
    await fc.assert(fc.asyncProperty(any, fc.constantFrom('end', 'reset'), async (text, end) => {
      const { answer, one } = await ask(text, end as 'end');
      try {
        await answer;
        await bodyOf(one);
      } catch (error) {
        expect(error).toBeInstanceOf(ForwardError);
      }
    }));
  });

  it('is cut by a stall, by its time and by a connection that does not come', async () => {
    const { lines, exchange, clock } = bench();
    const stalled = exchange();
    const answer = stalled.answer();
    answer.catch(() => {});
    await vi.waitFor(() => expect(lines[0]?.sent).toBe(HEAD));
    stalled.look(clock.nowMs);
    stalled.look(clock.nowMs += 4999);
    expect(lines[0]?.isClosed).toBe(false);
    stalled.look(clock.nowMs += 1);
    await expect(answer).rejects.toMatchObject({ code: 'upstream_timeout', cut: 'stall' });

    const late = exchange({ limits: { ...LIMITS, requestTimeoutMs: 2000 } });
    const lateAnswer = late.answer();
    late.look(clock.nowMs += 2000);
    await expect(lateAnswer).rejects.toMatchObject({ code: 'upstream_timeout', cut: 'overdue' });

    const dials: AbortSignal[] = [];
    const hanging = new Connections({
      dial: (_, givenUp) => new Promise(() => dials.push(givenUp)),
      nowMs: () => clock.nowMs,
    });
    const guard = { add() {}, remove() {} } as unknown as Guard;
    const call = { origin: ORIGIN, method: 'GET', head: HEAD, body: null, bodyBytes: null };
    const means = { connections: hanging, guard, nowMs: () => clock.nowMs };
    const waiting = new Exchange({ ...call, limits: LIMITS }, means);
    const waitingAnswer = waiting.answer();
    waiting.look(clock.nowMs += 999);
    await vi.waitFor(() => expect(dials.map(({ aborted }) => aborted)).toEqual([false]));
    waiting.look(clock.nowMs += 1);
    await expect(waitingAnswer).rejects.toMatchObject({ cut: 'connect' });
    expect(dials.map(({ aborted }) => aborted)).toEqual([true]);
  });

  it.each([
    ['the head', 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'],
    ['an interim head', `${INTERIM}HTTP/1.1 204 X\r\n\r\n`],
    ['a chunk line', `${CHUNKED}1;abcdef=ghijkl\r\nx\r\n0\r\n\r\n`],
    ['the trailers', `${CHUNKED}1\r\nx\r\n0\r\nx-trailer: yes\r\n\r\n`],
  ])('is not stalled while %s comes byte by byte, but overdue some time', async (_, text) => {
    for (const requestTimeoutMs of [null, text.length * 1000]) {
      const { lines, exchange, clock } = bench();
      const one = exchange({ limits: { ...LIMITS, requestTimeoutMs } });
      const body = one.answer().then(() => bodyOf(one));
      body.catch(() => {});
      await vi.waitFor(() => expect(lines[0]?.sent).toBe(HEAD));
      for (const byte of text) {
        one.look(clock.nowMs += 3000);
        lines[0]?.gives(byte);
        await settled();
      }
      if (requestTimeoutMs === null) await body;
      else await expect(body).rejects.toMatchObject({ cut: 'overdue' });
    }
  });

  it('tells which step of connecting failed, and no address', async () => {
    for (const reason of ['refused', 'dns', 'tls_issuer', 'unreachable'] as const) {
      const dial = () => Promise.reject(new DialError(reason));
      const connections = new Connections({ dial, nowMs: () => 0 });
      const guard = { add() {}, remove() {} } as unknown as Guard;
      const call = { origin: ORIGIN, method: 'GET', head: HEAD, body: null, bodyBytes: null };
      const means = { connections, guard, nowMs: () => 0 };
      const error = await new Exchange({ ...call, limits: LIMITS }, means).answer()
        .catch((caught) => caught);
      expect(error).toMatchObject({ code: 'upstream_unreachable', reason });
      expect(error.message).not.toContain('up.test');
    }
  });

  it('refuses an upstream that is this server', async () => {
    const dial = () => Promise.reject(new LoopError());
    const connections = new Connections({ dial, nowMs: () => 0 });
    const guard = { add() {}, remove() {} } as unknown as Guard;
    const call = { origin: ORIGIN, method: 'GET', head: HEAD, body: null, bodyBytes: null };
    const one = new Exchange({ ...call, limits: LIMITS }, { connections, guard, nowMs: () => 0 });
    await expect(one.answer()).rejects.toMatchObject({ code: 'loop_detected' });
  });
});
