/**
 * A secret as a header carries it. One that has a line end or a space would be quoted by whoever
 * refuses it, so it is refused here, and never shown.
 */
import { EXIT, Stop } from './command.ts';

export const ONE_WORD = 'must hold one word of visible ASCII characters';

export function isOneWord(secret: string): boolean {
  return /^[\x21-\x7e]+$/.test(secret);
}

/** The secret; null where there is none. @throws Stop */
export function oneWord(secret: string | undefined, from: string): string | null {
  if (secret === undefined || secret === '') return null;
  if (isOneWord(secret)) return secret;
  throw new Stop(EXIT.usage, `${from}: ${ONE_WORD}`);
}
