/**
 * By which scheme a caller came: the word of a trusted proxy, which may be where its TLS ends, or
 * else what this server speaks. From any other peer the header means nothing.
 */
import type { HeaderSource } from '../access/header_source.ts';

export interface PeerWord {
  /** Whether this server speaks TLS itself. */
  readonly isTls: boolean;
  /** Whether what the peer says of those before it is believed. */
  readonly isTrusted: boolean;
}

export function schemeOf(headers: HeaderSource, { isTls, isTrusted }: PeerWord): string {
  const told = isTrusted ? headers.get('x-forwarded-proto') : null;
  return told ?? (isTls ? 'https' : 'http');
}
