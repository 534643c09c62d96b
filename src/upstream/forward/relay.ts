/**
 * Carries WebSocket messages between a caller's socket and an upstream's connection until one side
 * closes. Closing codes and reasons pass through, as far as the caller's socket can send them.
 */
import type { Connection } from './connection.ts';
import type { Limits } from './exchange.ts';
import { closeMessage, closeOf, FrameError, frameOf, Frames, type Message } from './frames.ts';
import type { Guard, Watched } from './guard.ts';

/** More than this on its way to the caller, and the upstream is not read. */
const AHEAD_BYTES_MAX = 1024 * 1024;
/** More than this on its way to the upstream ends the relay: the caller cannot be held back. */
const BEHIND_BYTES_MAX = 64 * 1024 * 1024;
const DRAIN_LOOK_MS = 10;
const CLOSE_WAIT_MS = 1000;

export interface RelayOptions {
  readonly guard: Guard;
  readonly nowMs: () => number;
  readonly limits: Limits;
  /** Called once, when both sides are done with. */
  readonly ended: () => void;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export class Relay implements Watched {
  readonly #socket: WebSocket;
  readonly #connection: Connection;
  readonly #options: RelayOptions;
  readonly #startedAtMs: number;
  #sending: Promise<void> = Promise.resolve();
  #behind = 0;
  #hasMoved = false;
  #isClosing = false;
  #isOver = false;
  quietSinceMs: number;
  bytesIn = 0;
  bytesOut = 0;

  constructor(socket: WebSocket, connection: Connection, options: RelayOptions) {
    this.#socket = socket;
    this.#connection = connection;
    this.#options = options;
    this.#startedAtMs = this.quietSinceMs = options.nowMs();
    socket.binaryType = 'arraybuffer';
    options.guard.add(this);
    socket.onopen = () => void this.#readUpstream();
    socket.onmessage = ({ data }) => this.#fromCaller(data);
    socket.onclose = ({ code, reason }) => this.#callerClosed(code, reason);
    socket.onerror = () => this.end();
  }

  look(nowMs: number): void {
    const { stallTimeoutMs, requestTimeoutMs } = this.#options.limits;
    if (this.#hasMoved) {
      this.#hasMoved = false;
      this.quietSinceMs = nowMs;
    }
    const isOverdue = requestTimeoutMs !== null && nowMs - this.#startedAtMs >= requestTimeoutMs;
    if (isOverdue || nowMs - this.quietSinceMs >= stallTimeoutMs) this.end();
  }

  /** Ends both sides now. */
  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#options.guard.remove(this);
    this.#connection.close();
    closeSocket(this.#socket, 1005, '');
    this.#options.ended();
  }

  #fromCaller(data: unknown): void {
    const message: Message = typeof data === 'string'
      ? { kind: 'text', payload: encoder.encode(data) }
      : { kind: 'binary', payload: new Uint8Array(data as ArrayBuffer) };
    this.bytesIn += message.payload.length;
    this.#send(message);
  }

  /** Messages to the upstream go out one after another. */
  #send(message: Message): void {
    const { length } = message.payload;
    this.#behind += length;
    if (this.#behind > BEHIND_BYTES_MAX) return this.end();
    this.#sending = this.#sending.then(async () => {
      await this.#connection.write(frameOf(message));
      this.#behind -= length;
      this.#hasMoved = true;
    }).catch(() => this.end());
  }

  #callerClosed(code: number, reason: string): void {
    if (this.#isOver) return;
    if (code === 1006 || this.#isClosing) return this.end();
    this.#isClosing = true;
    this.#send(closeMessage(code, reason));
    void this.#sending.then(() => setTimeout(() => this.end(), CLOSE_WAIT_MS));
  }

  async #readUpstream(): Promise<void> {
    const frames = new Frames();
    try {
      while (!this.#isOver) {
        const { taken, message } = frames.read(this.#connection.ahead);
        this.#connection.take(taken);
        if (message !== null) await this.#fromUpstream(message);
        else if (taken === 0 && !await this.#connection.fill()) return this.end();
        this.#hasMoved = true;
      }
    } catch (error) {
      if (error instanceof FrameError) closeSocket(this.#socket, error.code, '');
      this.end();
    }
  }

  async #fromUpstream({ kind, payload }: Message): Promise<void> {
    switch (kind) {
      case 'text':
      case 'binary':
        this.bytesOut += payload.length;
        this.#socket.send(kind === 'text' ? decoder.decode(payload) : payload.slice().buffer);
        while (this.#socket.bufferedAmount > AHEAD_BYTES_MAX && !this.#isOver) {
          await new Promise((done) => setTimeout(done, DRAIN_LOOK_MS));
        }
        return;
      case 'ping':
        return this.#send({ kind: 'pong', payload });
      case 'close': {
        if (this.#isClosing) return this.end();
        this.#isClosing = true;
        const { code, reason } = closeOf(payload);
        closeSocket(this.#socket, code, reason);
        this.#send({ kind: 'close', payload });
        void this.#sending.then(() => setTimeout(() => this.end(), CLOSE_WAIT_MS));
        return;
      }
    }
  }
}

/** A socket of the platform sends 1000 and 3000 to 4999 only: others are told 3000 higher. */
function closeSocket(socket: WebSocket, code: number, reason: string): void {
  try {
    if (code === 1005) socket.close();
    else socket.close(code === 1000 || code >= 3000 ? code : code + 3000, reason);
  } catch {
    // It is closed already, or will be by the end of its connection.
  }
}
