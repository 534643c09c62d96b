/**
 * One connection to an upstream with the bytes that were read ahead. While it is idle a read is
 * already under way, so that an upstream's hang-up is noticed before a request is sent on it; the
 * same read then brings the next answer. One read and one write at a time.
 */
import type { Line } from './line.ts';

const SMALL = 8 * 1024;
const LARGE = 128 * 1024;

export class Connection {
  readonly line: Line;
  /** Which upstream it leads to, see {@link Connections}. */
  readonly name: string;
  idleSinceMs = 0;
  /** Ms that the upstream keeps it open while idle, as far as it said. */
  idleMsMax = Infinity;
  #bytes: Uint8Array = new Uint8Array(SMALL);
  #start = 0;
  #end = 0;
  #reading: Promise<boolean> | null = null;
  #isOpen = true;
  #isStreaming = false;

  constructor(line: Line, name: string) {
    this.line = line;
    this.name = name;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** What was read and not taken yet. */
  get ahead(): Uint8Array {
    return this.#bytes.subarray(this.#start, this.#end);
  }

  take(count: number): void {
    this.#start += count;
    if (this.#start === this.#end && this.#reading === null) this.#start = this.#end = 0;
  }

  /** Reads more; false at the end. Rejects where the connection broke. */
  fill(): Promise<boolean> {
    return this.#reading ??= this.#fill();
  }

  /** Reads a piece of a body that the caller may keep; null at the end. */
  async piece(bytesMax: number): Promise<Uint8Array | null> {
    if (this.#end === this.#start) {
      if (this.#isStreaming) return await this.#largePiece(bytesMax);
      if (!await this.fill()) return null;
    }
    const { ahead } = this;
    this.#isStreaming = this.#end === this.#bytes.length;
    const piece = ahead.slice(0, bytesMax);
    this.take(piece.length);
    return piece;
  }

  async write(bytes: Uint8Array): Promise<void> {
    let written = await this.line.write(bytes);
    while (written < bytes.length) written += await this.line.write(bytes.subarray(written));
  }

  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.line.close();
  }

  async #largePiece(bytesMax: number): Promise<Uint8Array | null> {
    const bytes = new Uint8Array(Math.min(LARGE, bytesMax));
    const count = await this.line.read(bytes);
    if (count === null) return null;
    this.#isStreaming = count >= SMALL;
    return bytes.subarray(0, count);
  }

  async #fill(): Promise<boolean> {
    try {
      this.#makeRoom();
      const count = await this.line.read(this.#bytes.subarray(this.#end));
      if (count === null) return false;
      this.#end += count;
      return true;
    } finally {
      this.#reading = null;
    }
  }

  #makeRoom(): void {
    if (this.#end < this.#bytes.length) return;
    const { ahead } = this;
    const isFull = ahead.length > this.#bytes.length / 2;
    const bytes = isFull ? new Uint8Array(this.#bytes.length * 2) : this.#bytes;
    if (isFull) bytes.set(ahead);
    else bytes.copyWithin(0, this.#start, this.#end);
    this.#bytes = bytes;
    this.#start = 0;
    this.#end = ahead.length;
  }
}
