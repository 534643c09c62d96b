/**
 * Bodies that nothing tells of. Over HTTP/2 a request needs no header for its body, and the runtime
 * shows one with every method that may have one; only reading tells that there is none.
 */
import { pass } from './pass.ts';

type Reader = ReadableStreamDefaultReader<Uint8Array>;

/** The body, or null where it is known at once to be empty. What comes late is not waited for. */
export async function unsized(
  body: ReadableStream<Uint8Array>,
): Promise<ReadableStream<Uint8Array> | null> {
  const reader = body.getReader();
  let first: Promise<Uint8Array | null> | null = pieceOf(reader);
  // The end comes behind a piece of no bytes, each in a turn of its own.
  const early = await Promise.race([first.catch(() => undefined), pass().then(pass)]);
  if (early === null) return null;
  return new ReadableStream({
    pull: async (controller) => {
      const coming = first ?? pieceOf(reader);
      first = null;
      const piece = await coming;
      if (piece === null) controller.close();
      else controller.enqueue(piece);
    },
    cancel: (reason) => reader.cancel(reason),
  }, { highWaterMark: 0 });
}

/** The next piece that has bytes; null at the end. */
async function pieceOf(reader: Reader): Promise<Uint8Array | null> {
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return null;
    if (value.length > 0) return value;
  }
}
