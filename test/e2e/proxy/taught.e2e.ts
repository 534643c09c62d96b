/**
 * What a pool learns of an error's body that comes packed: it is read, and passed on as it came;
 * one that would come to far more than it is leaves no trace.
 */
import { Buffer } from 'node:buffer';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { answering, plain, RawCaller } from './raw.ts';
import { stage } from './stage.ts';

const { server, upstream } = stage();
const LINES = 'content-type: application/json\r\ncontent-encoding: ';

describe.each([
  ['gzip', gzipSync],
  ['deflate', deflateSync],
  ['br', brotliCompressSync],
])('a packed error: %s', (coding, pack) => {
  /** Until when the pool is paused once it passed this error on, which must come as it was sent. */
  async function pausedBy(pool: string, error: string): Promise<unknown> {
    await server.pool(pool, upstream.port);
    const body = pack(error).toString('latin1');
    upstream.play = answering(plain(body, `${LINES}${coding}\r\n`).replace('200 OK', '429 X'));
    const caller = new RawCaller(server.port);
    caller.send(`GET / HTTP/1.1\r\nHost: ${pool}.localhost\r\nConnection: close\r\n\r\n`);
    const received = await caller.until('ended');
    const from = received.indexOf('\r\n\r\n') + 4;
    expect(Buffer.from(received.slice(from), 'latin1').equals(pack(error))).toBe(true);
    return (await server.admin('GET', `/pools/${pool}/governor`))['pausedUntil'];
  }

  it('is read', async () => {
    const error = '{"error":{"details":[{"retryDelay":"36.5s"}]}}';
    expect(await pausedBy(`read-${coding}`, error)).toBeGreaterThan(Date.now() + 30_000);
  });

  it('is not read where it comes to more than 64 KiB', async () => {
    const error = `{"error":{"details":[{"retryDelay":"36.5s"}]}}${' '.repeat(20_000_000)}`;
    expect(await pausedBy(`bomb-${coding}`, error)).toBeNull();
  });
});
