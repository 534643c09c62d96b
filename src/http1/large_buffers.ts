/**
 * The buffers that large pieces of bodies come in. Whoever has sent such a piece gives its buffer
 * back, to be used again: a fresh one costs more than the bytes in it, since the system clears each
 * of its pages and the garbage collector runs for it. One that is not given back is collected. A
 * piece must be given back by who holds it alone, and not be looked at or given back again: others
 * may have its buffer by then.
 */

/** What is read at once of a body that fills the small buffer of its connection. */
export const LARGE_BYTES = 128 * 1024;
/** 4 MiB at most are kept for later. */
const SPARE_MAX = 32;

class LargeBuffers {
  readonly #spare: Uint8Array[] = [];
  /** Taken, and neither given back nor kept. */
  readonly #lent = new WeakSet<ArrayBufferLike>();

  /** One that nobody else has; what stands in it is of an earlier use. */
  take(): Uint8Array {
    const bytes = this.#spare.pop() ?? new Uint8Array(LARGE_BYTES);
    this.#lent.add(bytes.buffer);
    return bytes;
  }

  /** Leaves a piece to its holder for good: to give it back does nothing from now on. */
  keep(piece: Uint8Array): Uint8Array {
    this.#lent.delete(piece.buffer);
    return piece;
  }

  /** Takes back the buffer of a piece; one that was not taken from here is let be. */
  giveBack({ buffer }: Uint8Array): void {
    if (!this.#lent.delete(buffer) || this.#spare.length >= SPARE_MAX) return;
    this.#spare.push(new Uint8Array(buffer));
  }
}

/** One for all connections. */
export const largeBuffers = new LargeBuffers();
