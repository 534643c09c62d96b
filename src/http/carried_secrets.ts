/**
 * The secrets in headers that one side alone may see, as texts, so that the other does not get them
 * in another place either: of what was checked for a proxied request, where a caller sends its key
 * twice, and of a managed credential, where an upstream answers with it.
 */
import { Buffer } from 'node:buffer';

/** A shorter text may stand in a header by chance. */
const LENGTH_MIN = 16;
const BASIC = /^basic +(\S+)/i;

export class CarriedSecrets {
  readonly #secrets: readonly string[];

  /** @param values of the headers that carry them. */
  constructor(values: readonly string[]) {
    this.#secrets = values.flatMap(secretsOf).filter(({ length }) => length >= LENGTH_MIN);
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
