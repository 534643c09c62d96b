import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Answer } from '../../src/http1/answer.ts';
import { HEAD_BYTES_MAX } from '../../src/http1/head.ts';
import { answersIn, DATE, Flow, ok, serve, settled, textOf } from '../support/caller.ts';
import { cut } from '../support/lines.ts';
import { latin1 } from '../support/latin1.ts';

const GET = 'GET / HTTP/1.1\r\nhost: h\r\n\r\n';

function get(target: string, lines = '', minor = 1): string {
  return `GET ${target} HTTP/1.${minor}\r\nhost: h\r\n${lines}\r\n`;
}

function post(target: string, body: string, lines = ''): string {
  const length = `content-length: ${body.length}\r\n`;
  return `POST ${target} HTTP/1.1\r\nhost: h\r\n${length}${lines}\r\n${body}`;
}

const echo = async (target: string, body: Parameters<typeof textOf>[0]) =>
  ok(`${target} ${await textOf(body)}`);

describe('a connection', () => {
  it('is kept after an answer, whether that is there at once or later', async () => {
    for (const answer of [() => ok('one'), () => Promise.resolve(ok('one'))]) {
      const { line, caller } = serve(answer);
      for (let requests = 1; requests <= 3; requests++) {
        line.gives(GET);
        await settled();
        expect(line.sent).toBe(
          `HTTP/1.1 200 OK\r\n${DATE}content-length: 3\r\n\r\none`.repeat(requests),
        );
        expect(caller.waiting).toBe('idle');
      }
      expect(line.isClosed).toBe(false);
    }
  });

  it('answers requests in their order that came in one piece, or cut anywhere', async () => {
    const chunks = '3\r\nabc\r\n0\r\n\r\n';
    const chunked = `POST /d HTTP/1.1\r\nhost: h\r\ntransfer-encoding: chunked\r\n\r\n${chunks}`;
    const text = `${get('/a')}\r\n${post('/b', 'body')}${get('/c')}${chunked}${get('/e')}`;
    const expected = ['/a ', '/b body', '/c ', '/d abc', '/e '];
    const asThere = (target: string): Answer => ok(`${target} ${bodies.get(target) ?? ''}`);
    const bodies = new Map([['/b', 'body'], ['/d', 'abc']]);
    const check = async (pieces: string[], isSync: boolean) => {
      const { line, asked } = serve(({ target, body }) =>
        isSync && body === null ? asThere(target) : echo(target, body)
      );
      line.gives(...pieces);
      while (line.hasUnread || asked.length < 5) await settled();
      await settled();
      expect(answersIn(line.sent).map(({ body }) => body)).toEqual(expected);
      expect(line.isClosed).toBe(false);
    };
    for (let at = 0; at <= text.length; at++) await check(cut(text, [at]), at % 2 === 0);
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.nat(text.length), { maxLength: 30 }),
        fc.boolean(),
        async (places, isSync) => await check(cut(text, places), isSync),
      ),
      { numRuns: 100 },
    );
  });

  it('has one request answered at a time', async () => {
    const told: ((answer: Answer) => void)[] = [];
    const { line, asked } = serve(() => new Promise((tell) => told.push(tell)));
    line.gives(get('/a') + get('/b'));
    await settled();
    expect(asked.map(({ target }) => target)).toEqual(['/a']);
    told[0]?.(ok('1'));
    await settled();
    expect(asked.map(({ target }) => target)).toEqual(['/a', '/b']);
    expect(answersIn(line.sent).map(({ body }) => body)).toEqual(['1']);
    told[1]?.(ok('2'));
    await settled();
    expect(answersIn(line.sent).map(({ body }) => body)).toEqual(['1', '2']);
  });

  it.each<[lines: string, minor: number, isKept: boolean]>([
    ['', 1, true],
    ['connection: keep-alive\r\n', 1, true],
    ['connection: close\r\n', 1, false],
    ['Connection: x, Close\r\n', 1, false],
    ['connection: x\r\nconnection: close\r\n', 1, false],
    ['', 0, false],
    ['connection: close\r\n', 0, false],
    ['Connection: Keep-Alive\r\n', 0, true],
  ])('of a caller that says %j in HTTP/1.%i is kept: %s', async (lines, minor, isKept) => {
    for (const answer of [() => ok('one'), () => ok(new Flow(3).gives('one', null))]) {
      const served = serve(answer);
      served.line.gives(get('/', lines, minor));
      await settled();
      const [first] = answersIn(served.line.sent);
      const words = minor === 0 ? 'keep-alive' : undefined;
      expect(first?.headers.get('connection')).toBe(isKept ? words : 'close');
      const { line } = served;
      expect([first?.body, line.isWriteClosed, line.isClosed]).toEqual(['one', !isKept, false]);
      if (isKept) continue;
      line.ends();
      await settled();
      expect([line.isClosed, served.isOver]).toEqual([true, true]);
    }
  });

  it('ends with an answer of unknown length to HTTP/1.0, and only there', async () => {
    for (const minor of [0, 1]) {
      const { line } = serve(() => ok(new Flow().gives('one', '', 'two', null)));
      line.gives(get('/', 'connection: keep-alive\r\n', minor));
      await settled();
      const [answer] = answersIn(line.sent);
      expect(answer?.body).toBe('onetwo');
      expect(answer?.headers.get('transfer-encoding')).toBe(minor === 0 ? undefined : 'chunked');
      expect(line.isWriteClosed).toBe(minor === 0);
    }
  });
});

describe('a text of an answer', () => {
  it('comes whole at any length, whatever its characters', async () => {
    for (const odd of ['', '\xe9', '\u20ac', '\ud83d\ude00']) {
      let text = '';
      const { line } = serve(() => ({ ...ok(text), headers: 'x: \xe9\r\n' }));
      const plain = serve(() => ok(text)).line;
      for (let length = 1900; length < 2100; length++) {
        text = `${odd}${'x'.repeat(length)}y`;
        line.sent = plain.sent = '';
        line.gives(GET);
        plain.gives(GET);
        await settled();
        const bytes = latin1(new TextEncoder().encode(text));
        const [answer] = answersIn(line.sent);
        expect([answer?.body === bytes, answer?.headers.get('x')]).toEqual([true, '\xe9']);
        expect(answersIn(plain.sent)[0]?.body === bytes).toBe(true);
      }
    }
  });
});

describe('bytes of an answer', () => {
  it('come whole at any length, whatever they are', async () => {
    let body = new Uint8Array();
    const { line } = serve(() => ({ ...ok(''), body, headers: 'x: \xe9\r\n' }));
    const plain = serve(() => ({ ...ok(''), body })).line;
    for (let length = 0; length < 2100; length = length < 1900 ? length + 50 : length + 1) {
      body = Uint8Array.from({ length }, (_, at) => at % 256);
      line.sent = plain.sent = '';
      line.gives(GET);
      plain.gives(GET);
      await settled();
      for (const { sent } of [line, plain]) {
        expect(answersIn(sent)[0]?.body === latin1(body), `${length}`).toBe(true);
      }
    }
  });
});

describe('an answer without a body', () => {
  it.each([['HEAD', 200], ['GET', 204], ['GET', 304]])(
    'to %s with %i leaves the connection to the next one',
    async (method, status) => {
      for (const body of [null, 'text', new Flow(3), new Flow()]) {
        const { line } = serve(({ target }) => target === '/2' ? ok('2') : { ...ok(body), status });
        line.gives(`${method} /1 HTTP/1.1\r\nhost: h\r\n\r\n${get('/2')}`);
        await settled();
        const answers = answersIn(line.sent, [method]);
        expect(answers.map((each) => each.body)).toEqual(['', '2']);
        expect(answers[0]?.headers.has('transfer-encoding')).toBe(false);
        if (body instanceof Flow) expect([body.asks, body.cancels]).toEqual([0, 1]);
      }
    },
  );
});

describe('what is no request', () => {
  const large = `GET / HTTP/1.1\r\na: ${'a'.repeat(HEAD_BYTES_MAX)}`;

  it.each([
    ['no request line', 'nonsense\r\n\r\n', 400],
    ['a bare LF', 'GET / HTTP/1.1\nhost: h\n\n', 400],
    ['two framings', post('/', 'a', 'transfer-encoding: chunked\r\n'), 400],
    ['a head that is too large', large, 431],
    ['a line end too few', '\rGET / HTTP/1.1\r\nhost: h\r\n\r\n', 400],
  ])('is refused, and ends the connection: %s', async (_, text, status) => {
    for (const before of ['', GET]) {
      const { line, asked, caller } = serve(() => ok('one'));
      line.gives(before + text);
      await settled();
      const answers = answersIn(line.sent);
      expect(answers.map((answer) => answer.status)).toEqual(
        before === '' ? [status] : [200, status],
      );
      expect(answers.at(-1)?.headers.get('connection')).toBe('close');
      expect(asked).toHaveLength(before === '' ? 0 : 1);
      // It can read its answer, and nothing that it sends now is read as a request.
      expect([line.isWriteClosed, line.isClosed]).toEqual([true, false]);
      line.gives(`\r\n\r\n${GET}`).ends();
      await settled();
      expect([line.closes, asked.length]).toEqual([1, before === '' ? 0 : 1]);
      expect(caller.waiting).not.toBe('answer');
    }
  });

  it('but blank lines before a request are none', async () => {
    const text = `\r\n\r\n${get('/a')}\r\n${get('/b')}`;
    for (let at = 0; at <= text.length; at++) {
      const { line } = serve(({ target }) => ok(target));
      line.gives(...cut(text, [at]));
      await settled();
      expect(answersIn(line.sent).map(({ body }) => body)).toEqual(['/a', '/b']);
    }
  });
});

describe('what is no HTTP', () => {
  it.each(['\x16\x03\x01\x02\0\x01', '\0', ' GET', '\xff'])(
    '%j is refused at once',
    async (text) => {
      const { line, asked } = serve(() => ok('one'));
      line.gives(text);
      await settled();
      expect(answersIn(line.sent).map(({ status }) => status)).toEqual([400]);
      expect([line.isWriteClosed, asked.length]).toEqual([true, 0]);
    },
  );
});

describe('a server that finishes', () => {
  it.each([
    ['before a first byte', ''],
    ['between two requests', GET],
  ])('closes what is idle %s', async (_, text) => {
    const served = serve(() => ok('one'));
    served.line.gives(text);
    await settled();
    const { sent } = served.line;
    served.caller.finish();
    await settled();
    expect([served.line.closes, served.isOver, served.line.sent]).toEqual([1, true, sent]);
  });

  it('closes what has sent a part of a head: that is no request yet', async () => {
    const served = serve(() => ok('one'));
    served.line.gives(GET.slice(0, -2));
    await settled();
    served.caller.finish();
    await settled();
    expect([served.line.closes, served.isOver, served.asked.length]).toEqual([1, true, 0]);
  });

  it('answers a request whose head has come, and says that it is the last', async () => {
    const told = new Set<string | null | undefined>();
    // In one of them the head is there, and nobody has looked at it yet.
    for (let steps = 0; steps < 12; steps++) {
      const { line, caller } = serve(() => ok('one'));
      line.gives(GET.slice(0, 9));
      await settled();
      line.gives(GET.slice(9) + GET);
      for (let step = 0; step < steps; step++) await undefined;
      caller.finish();
      await settled();
      told.add(answersIn(line.sent)[0]?.headers.get('connection'));
    }
    expect(told).toContain('close');
  });

  it('answers what is being answered, and nothing behind it', async () => {
    let tell = (_: Answer) => {};
    const served = serve(() => new Promise((told) => tell = told));
    served.line.gives(get('/a') + get('/b'));
    await settled();
    served.caller.finish();
    expect(served.line.isClosed).toBe(false);
    tell(ok('one'));
    await settled();
    const answers = answersIn(served.line.sent);
    expect(answers.map(({ headers }) => headers.get('connection'))).toEqual(['close']);
    served.line.ends();
    await settled();
    expect([served.line.closes, served.asked.length]).toEqual([1, 1]);
  });

  it('sends what is being sent to its end', async () => {
    const flow = new Flow();
    const served = serve(() => ok(flow));
    served.line.gives(get('/a') + get('/b'));
    flow.gives('one');
    await settled();
    served.caller.finish();
    await settled();
    expect(served.line.isClosed).toBe(false);
    flow.gives('two', null);
    await settled();
    expect(answersIn(served.line.sent).map(({ body }) => body)).toEqual(['onetwo']);
    expect([served.line.closes, served.asked.length, flow.cancels]).toEqual([1, 1, 0]);
  });
});
