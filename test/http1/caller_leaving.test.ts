import { describe, expect, it } from 'vitest';
import type { Answer } from '../../src/http1/answer.ts';
import type { Incoming } from '../../src/http1/incoming.ts';
import type { Answerer } from '../support/caller.ts';
import { answersIn, Flow, ok, serve, settled, textOf } from '../support/caller.ts';

const GET = 'GET / HTTP/1.1\r\nhost: h\r\n\r\n';
const POST = 'POST / HTTP/1.1\r\nhost: h\r\ncontent-length: 6\r\n\r\n';
const LARGE_BYTES = 1_000_000;
const LARGE = POST.replace('6', String(LARGE_BYTES)) + 'x'.repeat(LARGE_BYTES);
const LARGE_CHUNKED = POST.replace('content-length: 6', 'transfer-encoding: chunked') +
  `400\r\n${'x'.repeat(1024)}\r\n`.repeat(LARGE_BYTES / 1024) + '0\r\n\r\n';
const HOWS = ['end', 'reset'] as const;

/** Serves with who wants to be told, by both ways, counting how often they are. */
function served(answer: Answerer) {
  const told = { calls: 0, aborts: 0 };
  const one = serve((request: Incoming) => {
    request.whenGone(() => told.calls++);
    request.signal.addEventListener('abort', () => told.aborts++);
    return answer(request);
  });
  return { ...one, one, told };
}

function later() {
  let tell = (_: Answer) => {};
  const answer = new Promise<Answer>((told) => tell = told);
  return { answer, tell };
}

const ONCE = { calls: 1, aborts: 1 };
const NEVER = { calls: 0, aborts: 0 };

describe.each(HOWS)('a caller that leaves by %s', (how) => {
  it.each(['', 'G', GET.slice(0, -1), '\r\n', `${GET}GET /`])(
    'behind %j is let go',
    async (text) => {
      const { line, one, told } = served(() => ok('one'));
      line.gives(text);
      await settled();
      line.ends(how);
      await settled();
      expect([line.closes, one.isOver]).toEqual([1, true]);
      expect(told).toEqual(NEVER);
      expect(answersIn(line.sent)).toHaveLength(text.startsWith(GET) ? 1 : 0);
    },
  );

  it.each([
    ['without a body', GET],
    ['with a body that nobody reads', POST],
    ['with one that came', `${POST}abcdef`],
    ['with more behind it', GET + GET],
    ['with a large body', LARGE],
    ['with a large body in chunks', LARGE_CHUNKED],
    ['with a large body and more behind it', LARGE + GET],
  ])('while its answer is made %s is told of at once', async (_, text) => {
    const { answer, tell } = later();
    const { line, one, asked, told } = served(() => answer);
    line.gives(text);
    await settled();
    while (line.hasUnread) await settled();
    expect(told).toEqual(NEVER);
    line.ends(how);
    await settled();
    expect(told).toEqual(ONCE);
    expect(line.closes).toBe(1);
    const flow = new Flow();
    tell(ok(flow));
    await settled();
    expect([one.isOver, line.sent, line.closes, asked.length]).toEqual([true, '', 1, 1]);
    expect([flow.asks, flow.cancels]).toEqual([0, 1]);
    expect(told).toEqual(ONCE);
  });

  it('while its answer is made is told of after its body was read', async () => {
    const { answer } = later();
    let body = '';
    const { line, told } = served(async (request) => {
      body = await textOf(request.body);
      return await answer;
    });
    line.gives(POST);
    await settled();
    line.gives('abcdef');
    await settled();
    expect([body, told]).toEqual(['abcdef', NEVER]);
    line.ends(how);
    await settled();
    expect([told, line.closes]).toEqual([ONCE, 1]);
  });

  it.each([
    ['without a byte of it', POST, 'content'],
    ['in the middle', `${POST}abc`, 'content'],
    [
      'in a chunk',
      POST.replace('content-length: 6', 'transfer-encoding: chunked') + '6\r\nabc',
      '',
    ],
  ])('while its body is read %s breaks the body', async (_, text) => {
    let failure: unknown = null;
    const { line, one, asked, told } = served(async ({ body }) => {
      await textOf(body).catch((error) => failure = error);
      return ok('told');
    });
    line.gives(text);
    await settled();
    expect([failure, line.isClosed, told]).toEqual([null, false, NEVER]);
    line.ends(how);
    await settled();
    expect(failure).toBeInstanceOf(Error);
    expect([told, line.sent]).toEqual([ONCE, '']);
    expect([line.closes, one.isOver, asked.length]).toEqual([1, true, 1]);
  });

  it.each([
    ['between two pieces', GET, ['one']],
    ['before the first piece', GET, []],
    ['with a body unread', POST, ['one']],
    ['with a body read', `${POST}abcdef`, ['one']],
  ])('while pieces are sent %s ends them', async (_, text, pieces) => {
    for (const isSync of [true, false]) {
      const flow = new Flow();
      const { line, one, told } = served(async (request) => {
        if (text.endsWith('f')) await textOf(request.body);
        return ok(flow);
      });
      const direct = serve(() => ok(flow));
      const { line: used, run } = isSync ? { line: direct.line, run: direct } : { line, run: one };
      used.gives(text);
      await settled();
      flow.gives(...pieces);
      await settled();
      expect(flow.cancels).toBe(0);
      used.ends(how);
      await settled();
      expect(flow.cancels).toBe(1);
      expect(used.closes).toBe(1);
      if (!isSync) expect(told).toEqual(ONCE);
      flow.gives('two', null);
      await settled();
      expect([flow.cancels, used.closes, run.isOver]).toEqual([1, 1, true]);
      expect(used.sent).not.toContain('two');
    }
  });

  it('while pieces are sent to it ends them, where its body was given up half read', async () => {
    const flow = new Flow().gives('one');
    const { line } = serve(async ({ body }) => {
      await body?.read();
      body?.read().catch(() => {});
      body?.giveUp();
      return ok(flow);
    });
    line.gives(`${POST}abc`);
    await settled();
    expect(flow.cancels).toBe(0);
    line.ends(how);
    await settled();
    expect([flow.cancels, line.closes]).toEqual([1, 1]);
  });

  it('while pieces are sent to it ends them, where its large body was given up', async () => {
    const flow = new Flow().gives('one');
    const { line } = serve(async ({ body }) => {
      for (let bytes = 0; bytes < 8192;) bytes += (await body?.read())?.length ?? 0;
      body?.read().catch(() => {});
      body?.giveUp();
      return ok(flow);
    });
    line.gives('POST / HTTP/1.1\r\nhost: h\r\ncontent-length: 99999\r\n\r\n', 'x'.repeat(16_384));
    await settled();
    line.gives('y'.repeat(9000));
    await settled();
    expect(flow.cancels).toBe(0);
    line.ends(how);
    await settled();
    expect([flow.cancels, line.closes]).toEqual([1, 1]);
  });

  it('while it does not read its pieces ends them', async () => {
    for (const bytesMax of [0, 10, 200]) {
      const flow = new Flow();
      const { line, one, told } = served(() => ok(flow));
      line.bytesMax = bytesMax;
      line.gives(GET);
      flow.gives('x'.repeat(1000), 'y', 'z');
      await settled();
      // No more is fetched than one piece ahead.
      expect(flow.asks).toBe(bytesMax === 200 ? 2 : 1);
      expect([flow.cancels, told]).toEqual([0, NEVER]);
      line.ends(how);
      await settled();
      expect([flow.cancels, told]).toEqual([1, ONCE]);
      expect([line.closes, one.isOver]).toEqual([1, true]);
    }
  });

  it('behind its answer is not told of', async () => {
    for (const body of ['one', null, new Flow().gives('one', null)]) {
      for (const text of [GET, `${POST}abcdef`]) {
        const { line, one, told } = served(() => Promise.resolve(ok(body)));
        line.gives(text);
        await settled();
        line.ends(how);
        await settled();
        expect(answersIn(line.sent)).toHaveLength(1);
        expect([line.closes, one.isOver]).toEqual([1, true]);
        expect(told).toEqual(NEVER);
        if (body instanceof Flow) expect(body.cancels).toBe(0);
      }
    }
  });

  it('in the rest of a body that nobody read is not told of', async () => {
    const { line, one, told } = served(() => Promise.resolve(ok('one')));
    line.gives(`${POST}abc`);
    await settled();
    line.ends(how);
    await settled();
    expect([line.closes, one.isOver]).toEqual([1, true]);
    expect(told).toEqual(NEVER);
  });
});

describe('an answer that breaks off', () => {
  it.each([
    ['a piece that fails', (flow: Flow) => void flow.gives(new Error('broken'))],
    ['its word that it will not be whole', (flow: Flow) => flow.broken?.()],
  ])('by %s closes the connection before its end', async (_, breaks) => {
    for (const bytes of [null, 6]) {
      const flow = new Flow(bytes);
      const { line, caller } = serve(() => ok(flow));
      line.gives(GET + GET);
      flow.gives('one');
      await settled();
      expect(line.isClosed).toBe(false);
      breaks(flow);
      await settled();
      expect(line.closes).toBe(1);
      expect(() => answersIn(line.sent)).toThrow();
      expect(caller.waiting).toBe('answer');
      flow.gives('two', null);
      await settled();
      expect([flow.cancels, line.closes]).toEqual([1, 1]);
      expect(line.sent).not.toContain('two');
    }
  });

  it('closes the connection of a caller that does not read, too', async () => {
    const flow = new Flow();
    const { line, ...one } = serve(() => ok(flow));
    line.bytesMax = 0;
    line.gives(GET);
    await settled();
    flow.broken?.();
    await settled();
    expect([line.closes, flow.cancels]).toEqual([1, 1]);
    await one.run;
  });

  it('can no longer once it was whole', async () => {
    const flow = new Flow();
    const { line } = serve(() => ok(flow));
    line.gives(GET);
    flow.gives('one', null);
    await settled();
    flow.broken?.();
    await settled();
    expect(line.isClosed).toBe(false);
    expect(flow.cancels).toBe(0);
  });
});

describe('a caller that does not read', () => {
  it('holds its answer, its pieces and its next request up, and loses none', async () => {
    const flow = new Flow();
    const { line, asked } = serve(({ target }) => target === '/' ? ok(flow) : ok('next'));
    line.bytesMax = 50;
    line.gives(GET + GET.replace('/', '/next'));
    flow.gives('one', 'two', null);
    await settled();
    expect([asked.length, flow.asks, line.sent.length]).toEqual([1, 1, 50]);
    line.takes();
    await settled();
    expect(answersIn(line.sent).map(({ body }) => body)).toEqual(['onetwo', 'next']);
  });
});
