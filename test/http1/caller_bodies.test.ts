import { describe, expect, it } from 'vitest';
import { CEILINGS } from '../../src/ceilings.ts';
import type { Answer } from '../../src/http1/answer.ts';
import { answersIn, Flow, ok, serve, settled, textOf } from '../support/caller.ts';
import { latin1 } from '../support/latin1.ts';

const GET = 'GET /next HTTP/1.1\r\nhost: h\r\n\r\n';
const CHUNKED = 'transfer-encoding: chunked\r\n';
const EXPECT = 'expect: 100-continue\r\n';
const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';
const REST_BYTES_MAX = 64 * 1024;

function post(lines: string, minor = 1): string {
  return `POST /body HTTP/1.${minor}\r\nhost: h\r\n${lines}\r\n`;
}

function length(bytes: number): string {
  return `content-length: ${bytes}\r\n`;
}

/** What the caller was told of its connection in the last answer. */
function lastWord(sent: string): string | undefined {
  return answersIn(sent).at(-1)?.headers.get('connection');
}

describe('a body that nobody reads', () => {
  it('is taken to its end by a caller that reads its answer only afterwards', async () => {
    for (const lines of [length(1_000_000), CHUNKED]) {
      const flow = new Flow(5_000).gives('y'.repeat(5_000), null);
      const served = serve(() => Promise.resolve(ok(flow)));
      const { line } = served;
      line.bytesMax = 1_000;
      line.gives(post(lines));
      await settled();
      for (let sent = 0; sent < 1_000_000; sent += 50_000) {
        line.gives('x'.repeat(50_000));
        await settled();
        expect(line.hasUnread, `${sent}`).toBe(false);
      }
      line.takes();
      await settled();
      expect(answersIn(line.sent).map(({ body }) => body.length)).toEqual([5_000]);
      expect([line.isWriteClosed, line.isClosed]).toEqual([true, false]);
    }
  });

  const answers = [() => ok('no'), () => Promise.resolve(ok('no'))];

  it('is read for nothing where it is short', async () => {
    for (const answer of answers) {
      for (const bytes of [1, 9000, REST_BYTES_MAX]) {
        const served = serve(({ target }) => target === '/next' ? ok('yes') : answer());
        const { line } = served;
        line.gives(post(length(bytes)));
        await settled();
        expect(answersIn(line.sent).map(({ body }) => body)).toEqual(['no']);
        expect(served.caller.waiting).toBe('head');
        line.gives(`${'x'.repeat(bytes)}${GET}`);
        await settled();
        expect(answersIn(line.sent).map(({ body }) => body)).toEqual(['no', 'yes']);
        expect([line.isClosed, lastWord(line.sent)]).toEqual([false, undefined]);
      }
    }
  });

  it.each([
    ['long', length(REST_BYTES_MAX + 1), 'x'.repeat(REST_BYTES_MAX + 1)],
    ['in chunks', CHUNKED, '1\r\na\r\n0\r\n\r\n'],
    ['not sent before it is told to', length(3) + EXPECT, ''],
  ])('ends the connection where it is %s', async (_, lines, body) => {
    for (const answer of answers) {
      const served = serve(answer);
      const { line } = served;
      line.gives(post(lines));
      await settled();
      line.gives(body);
      await settled();
      expect(answersIn(line.sent).map(({ status }) => status)).toEqual([200]);
      expect(lastWord(line.sent)).toBe('close');
      // The caller can read its answer first, even while it sends on.
      expect([line.isWriteClosed, line.isClosed]).toEqual([true, false]);
      line.gives(GET);
      await settled();
      expect([line.isClosed, line.hasUnread]).toEqual([false, false]);
      line.ends();
      await settled();
      expect([line.closes, served.isOver, served.asked.length]).toEqual([1, true, 1]);
      expect(served.asked[0]?.isGone).toBe(false);
    }
  });

  it('was sent whole: whoever awaited to be told sent it nevertheless', async () => {
    const { line } = serve(() => ok('no'));
    line.gives(`${post(length(3) + EXPECT)}abc${GET}`);
    await settled();
    expect(answersIn(line.sent).map(({ status }) => status)).toEqual([200, 200]);
  });

  it('is not read ahead without bound, and is not lost when it is read after all', async () => {
    let tell = (_: Answer) => {};
    const { line, asked } = serve(() => new Promise((told) => tell = told));
    const bytesMax = CEILINGS.bodyAheadBytes + 3 * REST_BYTES_MAX;
    const text = Array.from({ length: 1_500_000 }, (_, at) => String.fromCharCode(at % 251))
      .join('');
    line.gives(post(length(text.length)));
    for (let at = 0; at < text.length; at += 10_000) line.gives(text.slice(at, at + 10_000));
    for (let turns = 0; turns < 100; turns++) await settled();
    expect(line.hasUnread).toBe(true);
    expect(line.given).toBeGreaterThan(CEILINGS.bodyAheadBytes);
    expect(line.given).toBeLessThan(bytesMax);
    const [request] = asked;
    const body = textOf(request?.body ?? null);
    while (line.hasUnread) await settled();
    expect((await body) === text).toBe(true);
    tell(ok('all'));
    line.gives(GET);
    await settled();
    tell(ok('next'));
    await settled();
    expect(answersIn(line.sent).map((each) => each.body)).toEqual(['all', 'next']);
  });
});

describe('a body that is awaited', () => {
  it('is asked for when somebody reads it, once, and not before', async () => {
    for (const lines of [length(6), CHUNKED]) {
      let read = () => {};
      const isRead = new Promise<void>((done) => read = done);
      const { line } = serve(async ({ body }) => {
        await isRead;
        return ok(await textOf(body));
      });
      line.gives(post(`Expect: 100-Continue\r\n${lines}`));
      await settled();
      expect(line.sent).toBe('');
      read();
      await settled();
      expect(line.sent).toBe(CONTINUE);
      const pieces = lines === CHUNKED ? ['3\r\nabc\r\n', '3\r\ndef\r\n0\r\n\r\n'] : ['abc', 'def'];
      for (const piece of pieces) {
        line.gives(piece);
        await settled();
      }
      expect(answersIn(line.sent).map(({ status, body }) => [status, body])).toEqual([
        [100, ''],
        [200, 'abcdef'],
      ]);
      expect([line.isClosed, lastWord(line.sent)]).toEqual([false, undefined]);
    }
  });

  it.each([
    ['it has come already', post(length(3) + EXPECT) + 'abc', 'abc'],
    ['the caller knows no such answer', `${post(length(3) + EXPECT, 0)}abc`, 'abc'],
    ['it is empty', post(length(0) + EXPECT), ''],
    ['something else is expected', `${post(`${length(3)}expect: 200-ok\r\n`)}abc`, 'abc'],
  ])('is not asked for where %s', async (_, text, expected) => {
    const { line } = serve(async ({ body }) => ok(await textOf(body)));
    line.gives(text);
    await settled();
    expect(answersIn(line.sent).map(({ status, body }) => [status, body])).toEqual([
      [200, expected],
    ]);
  });
});

describe('a body whose reader has given up', () => {
  it('never costs the next request a byte', async () => {
    for (const first of ['', 'abc']) {
      const { line, asked } = serve(({ target, body }) => {
        if (target === '/next') return ok('yes');
        void body?.read();
        return Promise.resolve(ok('no'));
      });
      line.gives(post(length(10)) + first);
      await settled();
      line.gives(`${'0123456789'.slice(first.length)}${GET}${GET}`);
      await settled();
      expect(asked.map(({ target }) => target)).toEqual(['/body', '/next', '/next']);
      expect(answersIn(line.sent).map(({ body }) => body)).toEqual(['no', 'yes', 'yes']);
    }
  });
});

describe('a body that is not well-formed', () => {
  it('is told to who reads it, and nothing behind it is a request', async () => {
    const served = serve(async ({ body }) => {
      const broken = await textOf(body).catch((error) => error.name);
      return ok(broken);
    });
    served.line.gives(`${post(CHUNKED)}3\r\nabcd\r\n0\r\n\r\n${GET}`);
    await settled();
    const answers = answersIn(served.line.sent);
    expect(answers.map(({ body }) => body)).toEqual(['MalformedError']);
    expect(answers[0]?.headers.get('connection')).toBe('close');
    served.line.ends();
    await settled();
    expect([served.line.closes, served.asked.length]).toEqual([1, 1]);
  });
});

describe('a tunnel', () => {
  const UPGRADE = 'GET /up HTTP/1.1\r\nhost: h\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n';
  const SWITCHED = 'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n';

  it('gets what was sent right behind the request, cut anywhere', async () => {
    for (const isSync of [true, false]) {
      for (const at of [1, UPGRADE.length - 1, UPGRADE.length, UPGRADE.length + 2]) {
        let carried = '';
        const answer: Answer = {
          status: 101,
          headers: 'upgrade: x\r\n',
          body: null,
          isForwarded: true,
          tunnel: async (caller, head) => {
            await caller.writeHead(head);
            for (;;) {
              const piece = await caller.piece(Infinity);
              if (piece === null) return;
              carried += latin1(piece);
              await caller.write(piece);
            }
          },
        };
        const served = serve(() => isSync ? answer : Promise.resolve(answer));
        const text = `${UPGRADE}early${GET}`;
        served.line.gives(text.slice(0, at), text.slice(at));
        await settled();
        served.line.gives('late');
        await settled();
        expect(carried).toBe(`early${GET}late`);
        expect(served.line.sent).toBe(`${SWITCHED}\r\n${carried}`);
        expect(served.line.isClosed).toBe(false);
        served.line.ends();
        await settled();
        expect([served.line.closes, served.isOver, served.asked.length]).toEqual([1, true, 1]);
      }
    }
  });

  it.each(['end', 'reset'] as const)('is told of a caller that left before it: %s', async (how) => {
    for (const isBefore of [true, false]) {
      let tell = (_: Answer) => {};
      let ended = 0;
      const served = serve(() => new Promise((told) => tell = told));
      const { line } = served;
      if (!isBefore) line.bytesMax = 10;
      line.gives(UPGRADE);
      await settled();
      if (isBefore) line.ends(how);
      await settled();
      tell({
        status: 101,
        headers: '',
        body: null,
        tunnel: async (caller, head) => {
          await Promise.race([caller.writeHead(head), caller.piece(Infinity)]).catch(() => {});
          await caller.piece(Infinity).catch(() => {});
          ended++;
        },
      });
      await settled();
      line.ends('reset');
      await settled();
      expect([ended, line.closes, served.isOver]).toEqual([1, 1, true]);
    }
  });
});

describe('pieces of an answer to who sends a body meanwhile', () => {
  it('are sent while the body comes, and the connection is kept', async () => {
    const flow = new Flow();
    let body = Promise.resolve('');
    const { line } = serve((request) => {
      if (request.body !== null) body = textOf(request.body);
      return request.body === null ? ok('next') : ok(flow);
    });
    line.gives(`${post(length(6))}abc`);
    flow.gives('one');
    await settled();
    line.gives(`def${GET}`);
    await settled();
    expect(await body).toBe('abcdef');
    flow.gives('two', null);
    await settled();
    expect(answersIn(line.sent).map((each) => each.body)).toEqual(['onetwo', 'next']);
    expect(flow.cancels).toBe(0);
  });
});
