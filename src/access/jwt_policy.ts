/**
 * The JWT policy: a signed token in `Authorization: Bearer`, or in the header that the settings
 * name. What a token says of itself (algorithm, key URL, embedded key) never decides how it is
 * checked.
 */
import { Buffer } from 'node:buffer';
import type { JSONWebKeySet } from 'jose';
import { createLocalJWKSet } from 'jose';
import type { AccessSpec } from '../wire_access.ts';
import type { HeaderSource } from './header_source.ts';
import type { KeySets } from './key_sets.ts';
import type { PolicyKind, PolicyVerdict } from './policy.ts';
import type { RemoteKeys } from './remote_keys.ts';
import type { TokenKeys } from './token_check.ts';
import { TokenCheck } from './token_check.ts';

type JwtSettings = NonNullable<AccessSpec['jwt']>;

const BEARER = /^Bearer +(?=\S)/i;
const MISSING: PolicyVerdict = { kind: 'fail', reason: 'jwt: missing' };

export const jwtPolicy: PolicyKind = {
  name: 'jwt',
  make: ({ spec }, { epochMs, keySets }) => {
    const settings = spec.access.jwt;
    if (settings === null) return null;
    const check = new TokenCheck(settings, keysOf(settings, keySets), epochMs);
    const carrier = settings.header ?? 'authorization';
    const passed = { kind: 'pass', isProven: true, carriers: [carrier] } as const;
    return {
      judge: ({ headers }) => {
        const token = tokenOf(headers, settings.header);
        if (token === null) return MISSING;
        return tokenVerdict(check.check(token), passed, 'jwt');
      },
    };
  },
};

/** The verdict that a checked token comes to. */
export function tokenVerdict(
  fault: string | null | Promise<string | null>,
  passed: PolicyVerdict,
  name: string,
): PolicyVerdict | Promise<PolicyVerdict> {
  const verdictOf = (fault: string | null): PolicyVerdict =>
    fault === null ? passed : { kind: 'fail', reason: `${name}: ${fault}` };
  return fault instanceof Promise ? fault.then(verdictOf) : verdictOf(fault);
}

/** Keys that are fetched from a URL. */
export function remoteKeys(keys: RemoteKeys): TokenKeys {
  return {
    find: keys.keyFor,
    version: () => keys.version,
    tend: () => keys.tend(),
    renew: () => keys.renew(),
  };
}

function keysOf({ jwksUrl, jwks, secret }: JwtSettings, keySets: KeySets): TokenKeys {
  if (jwksUrl !== null) return remoteKeys(keySets.at(jwksUrl));
  const find = jwks === null
    ? new Uint8Array(Buffer.from(secret ?? '', 'utf8'))
    : createLocalJWKSet(jwks as JSONWebKeySet);
  return { find, version: () => 0 };
}

function tokenOf(headers: HeaderSource, header: string | null): string | null {
  const value = headers.get(header ?? 'authorization');
  if (value === null) return null;
  const [scheme] = BEARER.exec(value) ?? [];
  if (scheme !== undefined) return value.slice(scheme.length);
  return header === null ? null : value;
}
