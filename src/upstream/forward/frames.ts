/**
 * WebSocket frames (RFC 6455) on the hop to the upstream, where this server is the client: what it
 * sends is masked, what it gets must not be. Messages come out whole.
 */
export interface Message {
  readonly kind: 'text' | 'binary' | 'close' | 'ping' | 'pong';
  readonly payload: Uint8Array;
}

/** The upstream broke the protocol; the code tells how. */
export class FrameError extends Error {
  override name = 'FrameError';
  readonly code: number;

  constructor(code: number) {
    super(`WebSocket error ${code}`);
    this.code = code;
  }
}

export const MESSAGE_BYTES_MAX = 64 * 1024 * 1024;

const KINDS: Readonly<Record<number, Message['kind']>> = {
  1: 'text',
  2: 'binary',
  8: 'close',
  9: 'ping',
  10: 'pong',
};
const OPCODES = { text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;
const CONTROL_BYTES_MAX = 125;

export class Frames {
  /** The pieces of a message whose last frame has not come. */
  #kind: 'text' | 'binary' | null = null;
  #pieces: Uint8Array[] = [];
  #bytes = 0;

  /**
   * Reads one frame off the front.
   * @returns how many bytes it took, 0 where it is not whole; and the message that it ended.
   */
  read(bytes: Uint8Array): { taken: number; message: Message | null } {
    const header = headerOf(bytes);
    if (header === null) return { taken: 0, message: null };
    const end = header.start + header.length;
    if (this.#bytes + header.length > MESSAGE_BYTES_MAX) throw new FrameError(1009);
    if (bytes.length < end) return { taken: 0, message: null };
    const payload = bytes.slice(header.start, end);
    return { taken: end, message: this.#message(header, payload) };
  }

  #message({ opcode, isLast }: Header, payload: Uint8Array): Message | null {
    const kind = KINDS[opcode];
    if (opcode >= 8) {
      if (kind === undefined || !isLast || payload.length > CONTROL_BYTES_MAX) {
        throw new FrameError(1002);
      }
      return { kind, payload };
    }
    if ((opcode === 0) === (this.#kind === null)) throw new FrameError(1002);
    if (opcode !== 0 && kind === undefined) throw new FrameError(1002);
    if (opcode !== 0) this.#kind = kind as 'text' | 'binary';
    this.#pieces.push(payload);
    this.#bytes += payload.length;
    if (!isLast) return null;
    const message = { kind: this.#kind as 'text' | 'binary', payload: this.#joined() };
    this.#kind = null;
    this.#pieces = [];
    this.#bytes = 0;
    return message;
  }

  #joined(): Uint8Array {
    const [first] = this.#pieces;
    if (this.#pieces.length === 1 && first !== undefined) return first;
    const whole = new Uint8Array(this.#bytes);
    let at = 0;
    for (const piece of this.#pieces) {
      whole.set(piece, at);
      at += piece.length;
    }
    return whole;
  }
}

interface Header {
  readonly opcode: number;
  readonly isLast: boolean;
  readonly start: number;
  readonly length: number;
}

/** null where it is not whole. */
function headerOf(bytes: Uint8Array): Header | null {
  if (bytes.length < 2) return null;
  const [first = 0, second = 0] = bytes;
  // Neither extensions (none were offered) nor masked frames may come from a server.
  if ((first & 0x70) !== 0 || (second & 0x80) !== 0) throw new FrameError(1002);
  const short = second & 0x7f;
  const start = short === 126 ? 4 : short === 127 ? 10 : 2;
  if (bytes.length < start) return null;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const length = short === 126
    ? view.getUint16(2)
    : short === 127
    ? Number(view.getBigUint64(2))
    : short;
  return { opcode: first & 0x0f, isLast: (first & 0x80) !== 0, start, length };
}

/** A whole message as one masked frame. */
export function frameOf({ kind, payload }: Message): Uint8Array {
  const { length } = payload;
  const extra = length < 126 ? 0 : length < 65_536 ? 2 : 8;
  const frame = new Uint8Array(2 + extra + 4 + length);
  frame[0] = 0x80 | OPCODES[kind];
  frame[1] = 0x80 | (extra === 0 ? length : extra === 2 ? 126 : 127);
  const view = new DataView(frame.buffer);
  if (extra === 2) view.setUint16(2, length);
  if (extra === 8) view.setBigUint64(2, BigInt(length));
  const mask = crypto.getRandomValues(frame.subarray(2 + extra, 6 + extra));
  const start = 6 + extra;
  for (let at = 0; at < length; at++) {
    frame[start + at] = (payload[at] as number) ^ (mask[at & 3] as number);
  }
  return frame;
}

/** A close message's code and reason; 1005 where it has none. */
export function closeOf(payload: Uint8Array): { code: number; reason: string } {
  if (payload.length < 2) return { code: 1005, reason: '' };
  const code = ((payload[0] as number) << 8) | (payload[1] as number);
  return { code, reason: new TextDecoder().decode(payload.subarray(2)) };
}

export function closeMessage(code: number, reason: string): Message {
  if (code === 1005) return { kind: 'close', payload: new Uint8Array() };
  const text = new TextEncoder().encode(reason).subarray(0, CONTROL_BYTES_MAX - 2);
  const payload = new Uint8Array(2 + text.length);
  payload.set([code >> 8, code & 0xff]);
  payload.set(text, 2);
  return { kind: 'close', payload };
}
