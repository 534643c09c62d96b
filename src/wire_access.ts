/**
 * The shape of a pool's access rules, a part of the wire's schemas. Secrets are taken in and never
 * shown; `secretSet`, which answers show in their place, is taken and dropped, so that what was
 * read can be sent back.
 */
import { z } from 'zod';
import { CEILINGS } from './ceilings.ts';
import { isCidr } from './cidr.ts';

const whole = (min: number, max: number) => z.int().min(min).max(max);

/** An HTTP header's name, kept in lower case. */
export const headerName = z.string().regex(
  /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/,
  "must be a header's name",
).toLowerCase();

const ranges = z.array(
  z.string().refine(isCidr, 'must be an address or a range such as 10.0.0.0/8'),
).max(1_000).default([]);

/** Marks what is taken and never shown. */
export const HIDDEN = { writeOnly: true } as const;

const secret = z.string().min(32, 'must be 32 or more characters').max(1_024);
const secretSet = z.boolean().optional();
const text = z.string().min(1).max(1_024);
const oneOrMore = z.union([text, z.array(text).min(1).max(20)]);

const webUrl = z.string().max(2_048).refine((value) => {
  const url = URL.canParse(value) ? new URL(value) : null;
  return url !== null && /^https?:$/.test(url.protocol) && url.username === '' &&
    url.password === '' && url.hash === '';
}, 'must be an http or https URL without user and fragment');

const Hmac = z.strictObject({
  secrets: z.array(secret).min(1, 'must have one or two').max(2, 'must have one or two')
    .meta(HIDDEN),
  toleranceMs: whole(1_000, CEILINGS.toleranceMs).default(300_000),
  bodyBytesMax: whole(0, CEILINGS.signedBodyBytes).default(1024 * 1024),
  secretSet,
}).transform(({ secretSet: _, ...rest }) => rest);

const ASYMMETRIC = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
] as const;
const SYMMETRIC = ['HS256', 'HS384', 'HS512'] as const;

/** Public keys alone: a secret belongs into `secret`, where it is kept as one. */
const Jwks = z.looseObject({
  keys: z.array(z.looseObject({ kty: z.string() })).min(1).max(100).refine(
    (keys) => keys.every((key) => key.kty !== 'oct' && !('d' in key) && !('k' in key)),
    'must hold public keys alone',
  ),
});

/** Claims that must be there; given as an object, with the value (or one of the values) named. */
const scalar = z.union([z.string().max(1_024), z.number(), z.boolean()]);
const Claims = z.union([
  z.array(text).max(20),
  z.record(text, z.union([scalar, z.array(scalar).min(1).max(20)])),
]);

const Jwt = z.strictObject({
  jwksUrl: webUrl.nullable().default(null),
  jwks: Jwks.nullable().default(null),
  secret: secret.nullable().default(null).meta(HIDDEN),
  algorithms: z.array(z.enum([...ASYMMETRIC, ...SYMMETRIC])).min(1).max(14).optional(),
  issuer: oneOrMore.nullable().default(null),
  audience: oneOrMore.nullable().default(null),
  header: headerName.nullable().default(null),
  requiredClaims: Claims.default([]),
  clockToleranceS: whole(0, 300).default(30),
  secretSet,
}).refine(
  ({ jwksUrl, jwks, secret }) => [jwksUrl, jwks, secret].filter((one) => one !== null).length === 1,
  'exactly one of jwksUrl, jwks and secret is wanted',
).transform(({ secretSet: _, algorithms, ...rest }) => ({
  ...rest,
  algorithms: algorithms ?? [rest.secret === null ? 'RS256' as const : 'HS256' as const],
})).refine(
  ({ secret, algorithms }) => algorithms.every((one) => one.startsWith('HS') === (secret !== null)),
  { path: ['algorithms'], message: 'HS algorithms go with secret, all others with public keys' },
);

/** `acme`, `acme.cloudflareaccess.com`, or the same as an https URL. */
const teamDomain = z.string().max(253).transform((value) =>
  value.toLowerCase().replace(/^https:\/\//, '').replace(/\/$/, '')
).pipe(z.string().regex(/^[a-z0-9-]+(\.[a-z0-9-]+)*$/, "must be the team's domain"))
  .transform((domain) => domain.includes('.') ? domain : `${domain}.cloudflareaccess.com`);

const CloudflareAccess = z.strictObject({
  teamDomain,
  audience: oneOrMore,
  certsUrl: webUrl.nullable().default(null),
});

export const AccessSpec = z.strictObject({
  key: z.strictObject({
    required: z.boolean().default(true),
    authorization: z.array(z.enum(['Nthbouncer', 'Bearer', 'Basic'])).max(3)
      .default(['Nthbouncer']),
    headers: z.array(headerName).max(8).default([]),
  }).prefault({}),
  ip: z.strictObject({ allow: ranges, deny: ranges }).prefault({}),
  hmac: Hmac.nullable().default(null),
  jwt: Jwt.nullable().default(null),
  cloudflareAccess: CloudflareAccess.nullable().default(null),
});
export type AccessSpec = z.infer<typeof AccessSpec>;
