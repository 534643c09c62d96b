/**
 * Fresh slot ids: 144 random bits as 24 URL-safe characters. Random bytes are fetched in blocks,
 * since one call a grant costs more than the grant.
 */
import { Buffer } from 'node:buffer';

const BYTES = 18;
const BLOCK = BYTES * 128;

/** Makes a source of slot ids over `fill`, which fills bytes with randomness. */
export function slotIds(
  fill: (bytes: Uint8Array<ArrayBuffer>) => void = (bytes) => void crypto.getRandomValues(bytes),
): () => string {
  const block = Buffer.alloc(BLOCK);
  let used = BLOCK;
  return () => {
    if (used === BLOCK) {
      fill(block);
      used = 0;
    }
    const id = block.toString('base64url', used, used + BYTES);
    used += BYTES;
    return id;
  };
}
