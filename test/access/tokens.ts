/** JWTs and key sets for tests, and a JWKS server that behaves as it is told. */
import type { JWK } from 'jose';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import type { FetchKeys } from '../../src/access/remote_keys.ts';
import { T0 } from '../support/pools.ts';

export const NOW_S = T0 / 1000;

export interface Signer {
  readonly alg: string;
  /** Absent where neither its tokens nor its key tell one. */
  readonly kid: string | undefined;
  readonly privateKey: CryptoKey | Uint8Array;
  readonly jwk: JWK;
}

export async function signerOf(kid: string, alg = 'RS256'): Promise<Signer> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  return { alg, kid, privateKey, jwk: { ...await exportJWK(publicKey), kid } };
}

export interface TokenParts {
  readonly claims?: Record<string, unknown>;
  readonly header?: Record<string, unknown>;
}

/** A token that is right for `iss` and `aud` of the tests, changed as the parts say. */
export function tokenOf(signer: Signer, { claims = {}, header = {} }: TokenParts = {}) {
  const payload = { iss: 'https://issuer.test', aud: 'app', exp: NOW_S + 300, ...claims };
  const { alg, kid, privateKey } = signer;
  return new SignJWT(payload)
    .setProtectedHeader({ alg, ...(kid === undefined ? {} : { kid }), ...header })
    .sign(privateKey);
}

/** An unsigned or oddly signed token, written by hand. */
export function rawToken(header: object, claims: object, signature = ''): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${part(header)}.${part(claims)}.${signature}`;
}

export type Behaviour = () => Response | Promise<Response>;

/** A JWKS server: counts the fetches, and answers as told. */
export class KeyServer {
  readonly urls: string[] = [];
  behave: Behaviour;

  constructor(...signers: Signer[]) {
    this.behave = () => this.publish(...signers);
  }

  publish(...signers: Signer[]): Response {
    return Response.json({ keys: signers.map(({ jwk }) => jwk) });
  }

  readonly fetch: FetchKeys = async (url, { signal }) => {
    this.urls.push(url);
    return await Promise.race([
      this.behave(),
      new Promise<never>((_, reject) =>
        signal?.addEventListener('abort', () => reject(new Error('aborted')))
      ),
    ]);
  };
}
