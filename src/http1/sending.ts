/**
 * Sends answers to a caller: as a whole where all is there, else in pieces as they come. It gives
 * a piece back only once it was written, and ends no connection but for an answer that will never
 * be whole.
 */
import { type Answer, isWhole, type Pieces } from './answer.ts';
import type { AnswerFraming, Surroundings } from './answer_bytes.ts';
import { headOf, headWithLength, wholeBytes, wholeText } from './answer_bytes.ts';
import { chunkOf, LAST_CHUNK } from './chunks.ts';
import type { Connection } from './connection.ts';
import { largeBuffers } from './large_buffers.ts';

export interface SendingOptions {
  /** The current `Date` line. */
  readonly date: () => string;
  /** Hears what is waited for: more of the answer, or that the caller takes what is there. */
  readonly wait: (what: 'answer' | 'sent') => void;
}

export class Sending {
  readonly #connection: Connection;
  readonly #date: () => string;
  readonly #wait: SendingOptions['wait'];
  /** Ends what is being sent. */
  #cancel: (() => void) | null = null;

  constructor(connection: Connection, { date, wait }: SendingOptions) {
    this.#connection = connection;
    this.#date = date;
    this.#wait = wait;
  }

  /** Resolves once all is sent; rejects where the connection, or the answer, broke off. */
  send(
    answer: Answer,
    { method, minor }: Pick<Surroundings, 'method' | 'minor'>,
    { framing, isKept }: { framing: AnswerFraming; isKept: boolean },
  ): Promise<void> {
    const head = headOf(answer, framing, { method, minor, isKept, date: this.#date() });
    const { body } = answer;
    if (framing === 'none') {
      if (!isWhole(body)) body.cancel();
      this.#wait('sent');
      return this.#connection.writeHead(`${head}\r\n`);
    }
    if (isWhole(body)) return this.sendWhole(head, body ?? '');
    const isGuarded = answer.isForwarded === true;
    const whole = body.bytes === null ? `${head}\r\n` : headWithLength(head, body.bytes);
    return this.#sendPieces(body, { head: whole, framing, isGuarded });
  }

  /** @param head without what frames the body. */
  sendWhole(head: string, body: string | Uint8Array): Promise<void> {
    const connection = this.#connection;
    this.#wait('sent');
    const sent = typeof body === 'string'
      ? connection.writeShort(wholeText(head, body))
      : connection.writeShort(headWithLength(head, body.length), body);
    return sent ?? connection.write(wholeBytes(head, body));
  }

  /** Ends what is being sent, if anything is. */
  cancel(): void {
    this.#cancel?.();
  }

  /**
   * The next piece is fetched while one is sent. Whoever forwards looks after a caller that takes
   * nothing for as long as pieces come.
   */
  async #sendPieces(
    body: Pieces,
    { head, framing, isGuarded }: { head: string; framing: AnswerFraming; isGuarded: boolean },
  ): Promise<void> {
    const connection = this.#connection;
    const send = async (write: () => Promise<void>) => {
      if (!isGuarded) this.#wait('sent');
      await write();
      if (!isGuarded) this.#wait('answer');
    };
    const fetch = () => {
      const next = body.next();
      next.then((piece) => {
        if (piece === null || body.isEnded?.() === true) this.#wait('sent');
      }, () => {});
      return next;
    };
    const cancel = this.#cancel = () => {
      this.#cancel = null;
      body.cancel();
    };
    body.broken = () => {
      if (this.#cancel === cancel) connection.close();
    };
    let coming = fetch();
    try {
      await send(() => connection.writeHead(head));
      for (;;) {
        const piece = await coming;
        if (piece === null) break;
        coming = fetch();
        if (piece.length === 0) continue;
        await send(() => connection.write(framing === 'chunked' ? chunkOf(piece) : piece));
        largeBuffers.giveBack(piece);
      }
      if (framing === 'chunked') await send(() => connection.write(LAST_CHUNK));
    } catch (error) {
      this.#cancel?.();
      throw error;
    } finally {
      this.#cancel = null;
    }
  }
}
