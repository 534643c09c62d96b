/**
 * Sends answers to a caller: as a whole where all is there, else in pieces as they come.
 */
import { type Answer, isWhole, type Pieces } from './answer.ts';
import type { AnswerFraming, Surroundings } from './answer_bytes.ts';
import { headOf, lengthened, wholeBytes, wholeText } from './answer_bytes.ts';
import { chunkOf, LAST_CHUNK } from './chunks.ts';
import type { Connection } from './connection.ts';
import { largeBuffers } from './large_buffers.ts';

/**
 * What is waited for: a request's first byte, the rest of its head (or of a body that nobody
 * wants), the answer, or that the caller takes an answer that is there as a whole.
 */
export type Waiting = 'idle' | 'head' | 'answer' | 'sent';

export interface SendingOptions {
  /** The current `Date` line. */
  readonly date: () => string;
  /** Hears what is waited for. */
  readonly wait: (what: Waiting) => void;
}

export class Sending {
  readonly #connection: Connection;
  readonly #date: () => string;
  readonly #wait: (what: Waiting) => void;
  /** Ends what is being sent. */
  #cancel: (() => void) | null = null;

  constructor(connection: Connection, { date, wait }: SendingOptions) {
    this.#connection = connection;
    this.#date = date;
    this.#wait = wait;
  }

  /** Resolves once all is sent. */
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
    const length = framing === 'length' ? `content-length: ${body.bytes}\r\n` : '';
    const isGuarded = answer.isForwarded === true;
    return this.#sendPieces(body, { head: head + length, framing, isGuarded });
  }

  /** @param head without what frames the body. */
  sendWhole(head: string, body: string | Uint8Array): Promise<void> {
    const connection = this.#connection;
    this.#wait('sent');
    const sent = typeof body === 'string'
      ? connection.writeAscii(wholeText(head, body))
      : connection.writeAscii(lengthened(head, body.length), body);
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
        if (piece === null || body.isEnded === true) this.#wait('sent');
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
      await send(() => connection.writeHead(`${head}\r\n`));
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
