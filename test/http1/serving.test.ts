import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Answer } from '../../src/http1/answer.ts';
import type { Incoming } from '../../src/http1/incoming.ts';
import { Serving } from '../../src/http1/serving.ts';
import { answersIn, failed, Flow, ok, refuse } from '../support/caller.ts';
import { MemoryLine } from '../support/lines.ts';

const GET = 'GET / HTTP/1.1\r\nhost: h\r\n\r\n';
const POST = 'POST / HTTP/1.1\r\nhost: h\r\ncontent-length: 3\r\n\r\n';
const HEAD_MS = 30_000;
const IDLE_MS = 600_000;
/** A sweep more or less. */
const SWEEPS_MS = 2_000;
const T0 = Date.UTC(2026, 10, 30, 8, 49, 37);

beforeEach(() => {
  vi.useFakeTimers({ now: T0 });
});

afterEach(() => {
  vi.useRealTimers();
});

function serving(answer: (request: Incoming) => Answer | Promise<Answer> = () => ok('one')) {
  const all = new Serving<null>({ answer, failed, refuse, epochMs: () => Date.now() });
  return {
    all,
    takes: (...pieces: string[]) => {
      const line = new MemoryLine().gives(...pieces);
      all.take(line, null);
      return line;
    },
  };
}

const settled = () => vi.advanceTimersByTimeAsync(0);

function datesIn(line: MemoryLine): (string | undefined)[] {
  return answersIn(line.sent).map(({ headers }) => headers.get('date'));
}

describe('a connection that sends nothing', () => {
  it.each([
    ['at all', '', HEAD_MS],
    ['more of its first head', GET.slice(0, 20), HEAD_MS],
    ['but a line end', '\r\n', HEAD_MS],
    ['more of its next head', GET + GET.slice(0, 20), HEAD_MS],
    ['of a body that nobody reads', POST, HEAD_MS],
    ['after an answer', GET, IDLE_MS],
    ['but a line end after an answer', `${GET}\r\n`, HEAD_MS],
  ])('%s is closed in time, and not before', async (_, text, ms) => {
    const { takes } = serving();
    const line = takes(text);
    await settled();
    const { sent } = line;
    await vi.advanceTimersByTimeAsync(ms - SWEEPS_MS);
    expect(line.isClosed).toBe(false);
    await vi.advanceTimersByTimeAsync(2 * SWEEPS_MS);
    expect(line.closes).toBe(1);
    expect(line.sent).toBe(sent);
  });

  it('gets no more time for a head that comes byte by byte', async () => {
    const { takes } = serving();
    for (const before of ['', GET]) {
      const line = takes(before);
      for (let seconds = 0; !line.isClosed && seconds < 60; seconds++) {
        line.gives('a');
        await vi.advanceTimersByTimeAsync(1000);
        if (seconds < HEAD_MS / 1000 - 3) expect(line.isClosed).toBe(false);
      }
      expect(line.closes).toBe(1);
    }
  });

  it('has its time anew for each request', async () => {
    const { takes } = serving();
    const line = takes();
    for (let requests = 1; requests <= 5; requests++) {
      line.gives(GET.slice(0, 9));
      await vi.advanceTimersByTimeAsync(HEAD_MS - SWEEPS_MS);
      line.gives(GET.slice(9));
      await vi.advanceTimersByTimeAsync(HEAD_MS - SWEEPS_MS);
      expect(answersIn(line.sent)).toHaveLength(requests);
    }
    expect(line.isClosed).toBe(false);
  });

  it('waits for its answer as long as that takes', async () => {
    let tell = (_: Answer) => {};
    const { takes } = serving(() => new Promise((told) => tell = told));
    const line = takes(GET);
    await vi.advanceTimersByTimeAsync(2 * IDLE_MS);
    expect([line.isClosed, line.sent]).toEqual([false, '']);
    tell(ok('late'));
    await settled();
    expect(answersIn(line.sent).map(({ body }) => body)).toEqual(['late']);
    await vi.advanceTimersByTimeAsync(IDLE_MS - SWEEPS_MS);
    expect(line.isClosed).toBe(false);
  });

  it('that lingers is closed before long, whatever it sends', async () => {
    const { takes, all } = serving();
    const line = takes('nonsense\r\n\r\n');
    await settled();
    expect(answersIn(line.sent).map(({ status }) => status)).toEqual([400]);
    for (let passed = 0; passed < 1900; passed += 100) {
      line.gives(GET);
      await vi.advanceTimersByTimeAsync(100);
    }
    expect([line.isClosed, line.hasUnread]).toEqual([false, false]);
    await vi.advanceTimersByTimeAsync(200);
    expect([line.closes, answersIn(line.sent).length]).toEqual([1, 1]);
    await all.finish();
  });
});

describe('the date', () => {
  it('is right to two seconds in every answer, of one connection or of many', async () => {
    for (const isOne of [true, false]) {
      const { takes } = serving();
      const one = takes();
      for (const ms of [0, 5_000, 250, 40_000, IDLE_MS - SWEEPS_MS]) {
        await vi.advanceTimersByTimeAsync(ms);
        const line = isOne ? one.gives(GET) : takes(GET);
        await settled();
        const shownMs = Date.parse(datesIn(line).at(-1) ?? '');
        expect(Date.now() - shownMs).toBeGreaterThanOrEqual(0);
        expect(Date.now() - shownMs).toBeLessThanOrEqual(2_000);
        if (!isOne) line.ends();
      }
      if (isOne) expect(datesIn(one)[0]).toMatch(/^Mon, 30 Nov 2026/);
    }
  });

  it('is right again after nobody was there for long', async () => {
    const { takes } = serving();
    takes(GET).ends();
    await vi.advanceTimersByTimeAsync(3_600_000);
    expect(vi.getTimerCount()).toBe(0);
    const line = takes(GET);
    await settled();
    expect(datesIn(line)).toEqual(['Mon, 30 Nov 2026 09:49:37 GMT']);
  });
});

describe('a caller that does not take its answer', () => {
  it('is let go in time, and not before', async () => {
    const { takes } = serving();
    const line = takes();
    line.bytesMax = 0;
    line.gives(GET);
    await vi.advanceTimersByTimeAsync(300_000 - SWEEPS_MS);
    expect(line.isClosed).toBe(false);
    await vi.advanceTimersByTimeAsync(2 * SWEEPS_MS);
    expect(line.closes).toBe(1);
  });

  it.each([
    ['that comes in pieces', false, false],
    ['that is forwarded and has come to its end', true, true],
  ])('%s, is let go in time, and not before', async (_, isForwarded, isEnded) => {
    const flow = Object.assign(new Flow(), { isEnded: () => isEnded });
    const { takes } = serving(() => ({ ...ok(flow), isForwarded }));
    const line = takes();
    line.bytesMax = 0;
    line.gives(GET);
    flow.gives('one');
    await vi.advanceTimersByTimeAsync(300_000 - SWEEPS_MS);
    expect(line.isClosed).toBe(false);
    await vi.advanceTimersByTimeAsync(2 * SWEEPS_MS);
    expect([line.closes, flow.cancels]).toEqual([1, 1]);
  });

  it('that is forwarded and still comes is left to who forwards it', async () => {
    const flow = new Flow().gives('one');
    const { takes } = serving(() => ({ ...ok(flow), isForwarded: true }));
    const line = takes();
    line.bytesMax = 0;
    line.gives(GET);
    await vi.advanceTimersByTimeAsync(1_000_000);
    expect([line.closes, flow.cancels]).toEqual([0, 0]);
  });

  it('and does not close after its last one, is closed after 2 s', async () => {
    const { takes } = serving();
    const line = takes(GET.replace('\r\n\r\n', '\r\nconnection: close\r\n\r\n'));
    await vi.advanceTimersByTimeAsync(1_900);
    expect([line.isWriteClosed, line.closes]).toEqual([true, 0]);
    await vi.advanceTimersByTimeAsync(200);
    expect(line.closes).toBe(1);
  });
});

describe('a server that finishes', () => {
  it('closes what is idle, waits for what is under way, and for nothing else', async () => {
    let tell = (_: Answer) => {};
    const { takes, all } = serving(() => new Promise((told) => tell = told));
    const idle = takes();
    const busy = takes(GET);
    takes(GET.slice(0, 20));
    await settled();
    expect(all.underWay).toBe(1);
    const done = vi.fn();
    void all.finish().then(done);
    await settled();
    expect([idle.closes, busy.closes, done.mock.calls.length]).toEqual([1, 0, 0]);
    expect(all.underWay).toBe(1);
    tell(ok('one'));
    await settled();
    expect(all.underWay).toBe(0);
    expect(answersIn(busy.sent).map(({ headers }) => headers.get('connection'))).toEqual(['close']);
    busy.ends();
    await settled();
    expect([busy.closes, done.mock.calls.length]).toEqual([1, 1]);
  });

  it('answers once who comes meanwhile', async () => {
    const { takes, all } = serving();
    await all.finish();
    const line = takes(GET + GET);
    await settled();
    expect(answersIn(line.sent).map(({ headers }) => headers.get('connection'))).toEqual(['close']);
    expect(line.isWriteClosed).toBe(true);
    line.ends();
    await settled();
    expect(line.closes).toBe(1);
    const silent = takes();
    await all.finish();
    expect(silent.closes).toBe(1);
  });

  it('does not wait longer for a head than that may take', async () => {
    const { takes, all } = serving();
    const line = takes(GET.slice(0, 5));
    await settled();
    const done = vi.fn();
    void all.finish().then(done);
    await vi.advanceTimersByTimeAsync(HEAD_MS + SWEEPS_MS);
    expect([line.closes, line.sent, done.mock.calls.length]).toEqual([1, '', 1]);
  });
});
