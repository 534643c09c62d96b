/**
 * The text that an HMAC signature is made over, as caller and server must both write it.
 */
import { Buffer } from 'node:buffer';
import { hash } from 'node:crypto';
import { HmacKey } from './hmac_key.ts';

export interface SignedParts {
  readonly pool: string;
  readonly door: 'lock' | 'proxy';
  /** Epoch ms, as the header has it. */
  readonly timestamp: string;
  readonly nonce: string;
  readonly method: string;
  /** Path and query exactly as they are sent, one character a byte. */
  readonly target: string;
  /** Lower-case hex SHA-256 of the body's bytes. */
  readonly bodyHash: string;
}

export function signedText(parts: SignedParts): string {
  const { pool, door, timestamp, nonce, method, target, bodyHash } = parts;
  return `v1\n${pool}\n${door}\n${timestamp}\n${nonce}\n${method}\n${target}\n${bodyHash}`;
}

/** The three headers of a signed request, whose target is sent as UTF-8. */
export function signedHeaders(
  secret: string,
  { body, ...parts }: Omit<SignedParts, 'bodyHash'> & { readonly body: Uint8Array },
): Record<string, string> {
  const target = Buffer.from(parts.target, 'utf8').toString('latin1');
  const text = signedText({ ...parts, target, bodyHash: hash('sha256', body, 'hex') });
  return {
    'X-Nthpool-Timestamp': parts.timestamp,
    'X-Nthpool-Nonce': parts.nonce,
    'X-Nthpool-Signature': `v1=${new HmacKey(secret).sign(text)}`,
  };
}
