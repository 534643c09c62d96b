/**
 * Secrets at rest: AES-256-GCM under the server's master key, each bound to its pool and field, so
 * that a sealed text moved elsewhere does not open. It holds the key and never tells it; what does
 * not open is an error, never a guess.
 */
import { Buffer } from 'node:buffer';
import { createCipheriv, createDecipheriv, hkdfSync } from 'node:crypto';
import { mapSecrets } from './secret_fields.ts';

/** The shortest master key that is taken. */
export const MASTER_KEY_LENGTH_MIN = 32;

const PREFIX = 'sealed:v1:';
const CIPHER = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;

export class VaultError extends Error {
  override name = 'VaultError';
}

export class Vault {
  readonly #key: Uint8Array;

  /** @param masterKey any text of 32 or more characters that is hard to guess. */
  constructor(masterKey: string) {
    if (masterKey.length < MASTER_KEY_LENGTH_MIN) {
      throw new VaultError(`a master key has at least ${MASTER_KEY_LENGTH_MIN} characters`);
    }
    const text = Buffer.from(masterKey, 'utf8');
    this.#key = new Uint8Array(hkdfSync('sha256', text, '', 'nthbouncer secrets at rest v1', 32));
  }

  seal(secret: string, pool: string, field: string): string {
    const iv = crypto.getRandomValues(new Uint8Array(IV_BYTES));
    const cipher = createCipheriv(CIPHER, this.#key, iv);
    cipher.setAAD(bindingOf(pool, field));
    const sealed = [cipher.update(secret, 'utf8'), cipher.final(), cipher.getAuthTag()];
    return PREFIX + Buffer.concat([iv, ...sealed]).toString('base64');
  }

  /** @throws VaultError where it was sealed under another key, for another field, or not at all. */
  open(sealed: unknown, pool: string, field: string): string {
    if (typeof sealed !== 'string' || !sealed.startsWith(PREFIX)) {
      throw new VaultError(`${pool}: ${field} is not sealed`);
    }
    try {
      const bytes = Buffer.from(sealed.slice(PREFIX.length), 'base64');
      const iv = bytes.subarray(0, IV_BYTES);
      const decipher = createDecipheriv(CIPHER, this.#key, iv, { authTagLength: TAG_BYTES });
      decipher.setAAD(bindingOf(pool, field));
      decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
      const text = decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES));
      return Buffer.concat([text, decipher.final()]).toString('utf8');
    } catch {
      throw new VaultError(`${pool}: ${field} does not open`);
    }
  }

  /** The settings of a pool as JSON, with every secret sealed. */
  sealSettings(pool: string, settings: object): string {
    return JSON.stringify(
      mapSecrets(settings, (secret, field) => this.seal(String(secret), pool, field)),
    );
  }

  /** @throws VaultError */
  openSettings(pool: string, settings: string): unknown {
    return mapSecrets(
      JSON.parse(settings) as unknown,
      (sealed, field) => this.open(sealed, pool, field),
    );
  }
}

/** Whether stored settings hold a secret at all. */
export function hasSecrets(settings: string): boolean {
  let has = false;
  mapSecrets(JSON.parse(settings) as unknown, () => has = true);
  return has;
}

function bindingOf(pool: string, field: string): Buffer {
  return Buffer.from(JSON.stringify(['nthbouncer', pool, field]), 'utf8');
}
