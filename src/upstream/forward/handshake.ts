/**
 * The opening handshake of WebSocket on the hop to the upstream: a key of our own, and the check
 * that the upstream's answer is made of it.
 */
import { createHash, randomBytes } from 'node:crypto';
import type { AnswerHead } from './head.ts';

const SALT = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

export interface Handshake {
  /** Whole header lines. */
  readonly lines: string;
  readonly accept: string;
}

export function handshake(): Handshake {
  const key = randomBytes(16).toString('base64');
  const accept = createHash('sha1').update(key + SALT).digest('base64');
  const lines = 'connection: Upgrade\r\nupgrade: websocket\r\n' +
    `sec-websocket-version: 13\r\nsec-websocket-key: ${key}\r\n`;
  return { lines, accept };
}

/** Whether the answer switches to WebSocket as it was asked to. */
export function isAccepted({ headers }: AnswerHead, { accept }: Handshake): boolean {
  return valueOf(headers, 'sec-websocket-accept') === accept &&
    valueOf(headers, 'upgrade')?.toLowerCase() === 'websocket' &&
    valueOf(headers, 'sec-websocket-extensions') === null;
}

export function protocolOf({ headers }: AnswerHead): string | null {
  return valueOf(headers, 'sec-websocket-protocol');
}

function valueOf(headers: AnswerHead['headers'], name: string): string | null {
  return headers.find(([each]) => each.toLowerCase() === name)?.[1] ?? null;
}
