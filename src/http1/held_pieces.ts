/**
 * What has come of a body that nobody reads yet, beyond what its connection keeps: taken off the
 * connection so that more can come, since a caller that goes away is noticed by reading alone. Each
 * body may hold so much, and all together no more than one budget.
 */
import { CEILINGS } from '../ceilings.ts';
import { ByteBudget } from './byte_budget.ts';

const budget = new ByteBudget(CEILINGS.bodiesAheadBytes);

export class HeldPieces {
  #pieces: Uint8Array[] = [];
  #bytes = 0;

  get isEmpty(): boolean {
    return this.#pieces.length === 0;
  }

  /** Makes room for so many bytes; false where there is none. */
  reserve(bytes: number): boolean {
    if (this.#bytes + bytes > CEILINGS.bodyAheadBytes || !budget.take(bytes)) return false;
    this.#bytes += bytes;
    return true;
  }

  /** Puts in a piece whose buffer is as long as what was reserved for it. */
  push(piece: Uint8Array): void {
    this.#pieces.push(piece);
  }

  /** The first that was put in, now the caller's; null where there is none. */
  shift(): Uint8Array | null {
    const piece = this.#pieces.shift();
    if (piece === undefined) return null;
    this.#giveBack(piece.buffer.byteLength);
    return piece;
  }

  drop(): void {
    this.#pieces = [];
    this.#giveBack(this.#bytes);
  }

  #giveBack(bytes: number): void {
    budget.give(bytes);
    this.#bytes -= bytes;
  }
}
