/**
 * Checks a JWT against the rules of a pool: its signature with jose, under algorithms that the
 * settings fix, and its claims. A token that passed is remembered until the keys change, so that
 * a caller's second request costs no signature; its times are looked at anew each time.
 */
import type { CryptoKey, JWTPayload, JWTVerifyGetKey } from 'jose';
import { errors, jwtVerify } from 'jose';
import { KeysUnavailableError } from './remote_keys.ts';

export interface TokenRules {
  readonly algorithms: readonly string[];
  readonly issuer: string | readonly string[] | null;
  readonly audience: string | readonly string[] | null;
  readonly clockToleranceS: number;
  /** Names, or names with the value (or one of the values) that is wanted. */
  readonly requiredClaims: readonly string[] | Readonly<Record<string, unknown>>;
}

export interface TokenKeys {
  readonly find: JWTVerifyGetKey | Uint8Array;
  /** Changes when the keys do. */
  readonly version: () => number;
  /** Sees to it that the keys stay fresh. */
  readonly tend?: () => void;
  /** Asks for other keys, where they may have been changed; whether there are. */
  readonly renew?: () => Promise<boolean>;
}

const COMPACT = /^[\w-]+\.[\w-]+\.[\w-]+$/;
const PASSED_MAX = 1_000;

interface Passed {
  readonly notBefore: number;
  readonly expires: number;
}

export class TokenCheck {
  readonly #rules: TokenRules;
  readonly #keys: TokenKeys;
  readonly #epochMs: () => number;
  readonly #passed = new Map<string, Passed>();
  #version = -1;

  constructor(rules: TokenRules, keys: TokenKeys, epochMs: () => number) {
    this.#rules = rules;
    this.#keys = keys;
    this.#epochMs = epochMs;
  }

  /** Null where the token is right, else why not. */
  check(token: string): string | null | Promise<string | null> {
    const version = this.#keys.version();
    if (version !== this.#version) {
      this.#passed.clear();
      this.#version = version;
    }
    const passed = this.#passed.get(token);
    if (passed === undefined) return COMPACT.test(token) ? this.#verify(token) : 'malformed';
    this.#keys.tend?.();
    return this.#timeFault(passed);
  }

  /** As jose judges times, in whole seconds. */
  #timeFault({ notBefore, expires }: Passed): string | null {
    const nowS = Math.floor(this.#epochMs() / 1000);
    const { clockToleranceS } = this.#rules;
    if (notBefore > nowS + clockToleranceS) return 'claim nbf';
    return expires <= nowS - clockToleranceS ? 'expired' : null;
  }

  async #verify(token: string): Promise<string | null> {
    try {
      const payload = await this.#payloadOf(token);
      const fault = this.#claimFault(payload);
      if (fault === null) this.#remember(token, payload);
      return fault;
    } catch (error) {
      return reasonOf(error);
    }
  }

  /** A key may be changed under its id, or have none: one that does not fit may be an old one. */
  async #payloadOf(token: string): Promise<JWTPayload> {
    const { find, version, renew } = this.#keys;
    if (find instanceof Uint8Array) return (await jwtVerify(token, find, this.#options())).payload;
    const before = version();
    try {
      return await this.#verifyWith(token, find);
    } catch (error) {
      if (!(error instanceof errors.JWSSignatureVerificationFailed)) throw error;
      if (version() === before && !await renew?.()) throw error;
      return await this.#verifyWith(token, find);
    }
  }

  /** Where several keys may be meant (no key id, or one that is there twice), one must fit. */
  async #verifyWith(token: string, find: JWTVerifyGetKey): Promise<JWTPayload> {
    try {
      return (await jwtVerify(token, find, this.#options())).payload;
    } catch (error) {
      if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
      for await (const key of error as AsyncIterable<CryptoKey>) {
        try {
          return (await jwtVerify(token, key, this.#options())).payload;
        } catch (wrong) {
          if (!(wrong instanceof errors.JWSSignatureVerificationFailed)) throw wrong;
        }
      }
      throw new errors.JWSSignatureVerificationFailed();
    }
  }

  #options() {
    const { algorithms, issuer, audience, clockToleranceS } = this.#rules;
    return {
      algorithms: [...algorithms],
      ...(issuer === null ? {} : { issuer: listOf(issuer) }),
      ...(audience === null ? {} : { audience: listOf(audience) }),
      clockTolerance: clockToleranceS,
      requiredClaims: ['exp'],
      currentDate: new Date(this.#epochMs()),
    };
  }

  #claimFault(payload: JWTPayload): string | null {
    const { requiredClaims } = this.#rules;
    const names = Array.isArray(requiredClaims) ? requiredClaims : Object.keys(requiredClaims);
    for (const name of names) {
      if (!Object.hasOwn(payload, name)) return 'claim missing';
      if (Array.isArray(requiredClaims)) continue;
      const wanted = (requiredClaims as Record<string, unknown>)[name];
      const isWanted = (value: unknown) =>
        Array.isArray(wanted) ? wanted.includes(value) : value === wanted;
      const value = payload[name];
      if (!(Array.isArray(value) ? value.some(isWanted) : isWanted(value))) return 'claim wrong';
    }
    return null;
  }

  #remember(token: string, { nbf, exp }: JWTPayload): void {
    // The keys may have changed while the signature was checked.
    if (this.#keys.version() !== this.#version) return;
    if (this.#passed.size >= PASSED_MAX) {
      this.#passed.delete(this.#passed.keys().next().value as string);
    }
    this.#passed.set(token, { notBefore: nbf ?? -Infinity, expires: exp ?? -Infinity });
  }
}

function listOf(values: string | readonly string[]): string[] {
  return typeof values === 'string' ? [values] : [...values];
}

/** For the access log: what failed, in a word. */
function reasonOf(error: unknown): string {
  if (error instanceof KeysUnavailableError) return 'keys unavailable';
  if (error instanceof errors.JWTExpired) return 'expired';
  if (error instanceof errors.JWTClaimValidationFailed) return `claim ${error.claim}`;
  if (error instanceof errors.JOSEAlgNotAllowed) return 'algorithm not allowed';
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'wrong signature';
  if (error instanceof errors.JWKSNoMatchingKey) return 'unknown key';
  return 'malformed';
}
