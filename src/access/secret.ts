/**
 * Comparing secrets: by their hashes, in constant time.
 */
import { Buffer } from 'node:buffer';
import { timingSafeEqual } from 'node:crypto';

/** Whether two lower-case hex SHA-256 hashes are the same. */
export function isSameSecretHash(presented: string, known: string): boolean {
  return timingSafeEqual(Buffer.from(presented, 'hex'), Buffer.from(known, 'hex'));
}
