import { describe, expect, it } from 'vitest';
import { latin1Bytes } from '../../../src/upstream/forward/head.ts';
import { unsized } from '../../../src/upstream/forward/unsized.ts';

type Controller = ReadableStreamDefaultController<Uint8Array>;

function body(act: (controller: Controller) => void): ReadableStream<Uint8Array> {
  return new ReadableStream({ start: act });
}

const textOf = (stream: ReadableStream<Uint8Array> | null) => new Response(stream).text();

describe('a body that nothing tells of', () => {
  it('is none where it ends at once, be it after pieces without bytes', async () => {
    expect(await unsized(body((one) => one.close()))).toBe(null);
    const hollow = body((one) => {
      one.enqueue(new Uint8Array(0));
      one.enqueue(new Uint8Array(0));
      one.close();
    });
    expect(await unsized(hollow)).toBe(null);
  });

  it('is passed on whole where it has come, or comes late', async () => {
    const here = body((one) => {
      for (const text of ['', 'a', '', 'bc']) one.enqueue(latin1Bytes(text));
      one.close();
    });
    expect(await textOf(await unsized(here))).toBe('abc');
    const late = body((one) =>
      void setTimeout(() => {
        one.enqueue(latin1Bytes('late'));
        one.close();
      }, 20)
    );
    expect(await textOf(await unsized(late))).toBe('late');
  });

  it('breaks off where its source does, and is given up where nobody wants it', async () => {
    const broken = await unsized(body((one) => one.error(new Error('gone'))));
    await expect(textOf(broken)).rejects.toThrow('gone');
    let reason: unknown = null;
    const unwanted = await unsized(new ReadableStream({ cancel: (why) => void (reason = why) }));
    await unwanted?.cancel('enough');
    expect(reason).toBe('enough');
  });
});
