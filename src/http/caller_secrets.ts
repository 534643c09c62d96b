/**
 * The keys and tokens that were checked for a proxied request, as texts: an upstream must not get
 * them in another place either, where a caller sends the same key twice.
 */
import { Buffer } from 'node:buffer';
import type { HeaderSource } from '../access/header_source.ts';

/** A shorter text may stand in a header by chance. */
const LENGTH_MIN = 16;
const BASIC = /^basic +(\S+)/i;

export class CallerSecrets {
  readonly #secrets: readonly string[];

  /** @param carriers the headers that carried what was checked. */
  constructor(headers: HeaderSource, carriers: readonly string[]) {
    this.#secrets = carriers.filter((name) => !name.startsWith('cookie:'))
      .flatMap((name) => secretsOf(headers.get(name) ?? ''))
      .filter((secret) => secret.length >= LENGTH_MIN);
  }

  /** Whether a header's value, or a cookie, holds one of them. */
  areIn(value: string): boolean {
    if (this.#secrets.length === 0) return false;
    const [, encoded] = BASIC.exec(value) ?? [];
    const text = encoded === undefined ? value : `${encoded} ${decoded(encoded)}`;
    return this.#secrets.some((secret) => text.includes(secret));
  }
}

/** Without the scheme; of Basic the password, and the text in which it stands. */
function secretsOf(value: string): string[] {
  const [, encoded] = BASIC.exec(value) ?? [];
  if (encoded === undefined) return [value.slice(value.lastIndexOf(' ') + 1)];
  const text = decoded(encoded);
  return [text.slice(text.indexOf(':') + 1), encoded];
}

function decoded(base64: string): string {
  return Buffer.from(base64, 'base64').toString('latin1');
}
