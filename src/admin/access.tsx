/**
 * Who may call a pool: its keys, and one form for each policy, with what the policy does now and
 * what a change will do. Secrets go in and never come out.
 */
import { CEILINGS } from '../ceilings.ts';
import { AsJson, JsonPage } from './as_json.tsx';
import { claimsText } from './claims.ts';
import type { Change, Shown } from './change_form.tsx';
import { ChangeForm } from './change_form.tsx';
import type { Field } from './fields.tsx';
import { Fields, OnOff } from './fields.tsx';
import type { Rule } from './in_force.ts';
import { Keys } from './keys.tsx';
import type { PoolPage } from './pool.tsx';
import { PoolLayout } from './pool.tsx';
import type { Json } from './shapes.ts';
import { at } from './shapes.ts';

interface Policy {
  readonly rule: Rule;
  readonly title: string;
  /** What a change will do. */
  readonly effect: string;
  /** What its switch says; null: it is always on. */
  readonly onOff: string | null;
  readonly fields: readonly Field[];
}

const KEPT = 'Never shown; left empty, what is stored stays.';

const KEY: Policy = {
  rule: 'key',
  title: 'Pool key',
  effect: 'Places that are taken away stop working at once; keys themselves stay valid.',
  onOff: null,
  fields: [
    {
      name: 'access.key.required:bool',
      label: 'A key is',
      options: [['true', 'required'], ['false', 'not required']],
      about: 'Without a key, only the other rules say who may call.',
    },
    {
      name: 'access.key.authorization:lines',
      label: 'Also taken from Authorization',
      input: 'checks',
      options: ['Nthbouncer', 'Bearer', 'Basic'],
      about: 'Basic: the key is the password. X-Nthpool-Key works always.',
    },
    {
      name: 'access.key.headers:lines',
      label: 'Also taken from these headers',
      input: 'lines',
      about: 'One name a line, x-api-key say; at most 8.',
    },
  ],
};

const ADDRESSES: Policy = {
  rule: 'ip',
  title: 'Addresses',
  effect: 'Applies to the next call from each address; slots that are held stay held, and this ' +
    'page is not bound by it.',
  onOff: null,
  fields: [
    {
      name: 'access.ip.allow:lines',
      label: 'Allow',
      input: 'lines',
      about: 'One address or range a line, 10.0.0.0/8 say; empty: all. At most 1000.',
    },
    {
      name: 'access.ip.deny:lines',
      label: 'Deny',
      input: 'lines',
      about: 'The same; wins over what is allowed.',
    },
  ],
};

const SIGNATURE: Policy = {
  rule: 'hmac',
  title: 'Signature (HMAC)',
  effect:
    'Callers that do not sign are refused at once. New secrets replace all that are stored: ' +
    'to change one without a break, give the old and the new one, and later the new one alone.',
  onOff: 'Calls must be signed',
  fields: [
    {
      name: 'access.hmac.secrets:secrets',
      label: 'Secret',
      input: 'secret',
      about: `32 characters or more. ${KEPT}`,
    },
    {
      name: 'access.hmac.secrets:secrets',
      label: 'Second secret',
      input: 'secret',
      about: 'Only while callers change over.',
    },
    {
      name: 'access.hmac.toleranceMs:int',
      label: 'Tolerance of timestamps (ms)',
      min: 1_000,
      max: 900_000,
      unit: 'ms',
      fallback: 300_000,
      about: 'How far the caller’s clock may be off.',
    },
    {
      name: 'access.hmac.bodyBytesMax:int',
      label: 'Largest signed body on the pool’s host (bytes)',
      min: 0,
      max: CEILINGS.signedBodyBytes,
      unit: 'bytes',
      fallback: 1024 * 1024,
      about: 'A larger one is refused with 413.',
    },
  ],
};

const TOKEN: Policy = {
  rule: 'jwt',
  title: 'Token (JWT)',
  effect: 'Callers without such a token are refused at once. With another source of keys, tokens ' +
    'of the old one stop working.',
  onOff: 'Calls must bring a token',
  fields: [
    {
      name: 'access.jwt:one.jwksUrl.jwks.secret',
      shows: 'access.jwt.keysFrom',
      label: 'Keys from',
      options: [['jwksUrl', 'a URL'], ['jwks', 'a key set below'], ['secret', 'a shared secret']],
      about: 'By what the signature is checked.',
    },
    {
      name: 'access.jwt.jwksUrl:text',
      of: 'of-jwksUrl',
      label: 'URL of the key set',
      input: 'text',
      about: 'Keys that rotate are fetched by themselves.',
    },
    {
      name: 'access.jwt.jwks:json?',
      of: 'of-jwks',
      label: 'Key set (JWKS)',
      input: 'lines',
      about: 'Public keys alone, as JSON: {"keys": […]}.',
    },
    {
      name: 'access.jwt.secret:secret',
      of: 'of-secret',
      label: 'Shared secret',
      input: 'secret',
      about: `32 characters or more. ${KEPT}`,
    },
    {
      name: 'access.jwt.algorithms:lines?',
      label: 'Algorithms',
      input: 'checks',
      options:
        'RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519 HS256 HS384 HS512'
          .split(' '),
      about: 'HS with a secret, the others with public keys. None: RS256 or HS256.',
    },
    {
      name: 'access.jwt.issuer:lines?',
      label: 'Issuers',
      input: 'lines',
      about: 'One a line, of which one must match; empty: any. Set both this and the audience.',
    },
    {
      name: 'access.jwt.audience:lines?',
      label: 'Audiences',
      input: 'lines',
      about: 'The same; empty, tokens for other applications pass.',
    },
    {
      name: 'access.jwt.header:text?',
      label: 'Header',
      input: 'text',
      about: 'Empty: Authorization: Bearer.',
    },
    {
      name: 'access.jwt.requiredClaims:claims',
      label: 'Claims wanted',
      input: 'lines',
      about: 'One a line: a name, or on every line name = value; several values as a JSON list.',
    },
    {
      name: 'access.jwt.clockToleranceS:int',
      label: 'Tolerance of clocks (s)',
      min: 0,
      max: 300,
      fallback: 30,
      about: 'For the instants in a token.',
    },
  ],
};

const CLOUDFLARE: Policy = {
  rule: 'cloudflareAccess',
  title: 'Cloudflare Access',
  effect: 'Callers that do not come through this application of the team are refused at once.',
  onOff: 'Calls must come through Cloudflare Access',
  fields: [
    {
      name: 'access.cloudflareAccess.teamDomain:text',
      label: 'Team domain',
      input: 'text',
      about: 'acme, or acme.cloudflareaccess.com.',
    },
    {
      name: 'access.cloudflareAccess.audience:lines',
      label: 'Audience tags',
      input: 'lines',
      about: 'The AUD tag of the application, one a line.',
    },
    {
      name: 'access.cloudflareAccess.certsUrl:text?',
      label: 'URL of the certificates',
      input: 'text',
      about: 'Empty: the team’s own.',
    },
  ],
};

const POLICIES = [KEY, ADDRESSES, SIGNATURE, TOKEN, CLOUDFLARE];

export const RULES: Readonly<Record<string, Change>> = Object.fromEntries(
  POLICIES.map((policy) => [policy.rule, changeOf(policy)]),
);

function changeOf({ rule, title, effect, onOff, fields }: Policy): Change {
  const path = `access.${rule}`;
  return {
    path,
    rule,
    label: `Save ${rule === 'cloudflareAccess' ? title : lowered(title)}`,
    draw: ({ spec }) => {
      const set = at(spec, path) as Json | null;
      return (
        <>
          {onOff === null ? null : <OnOff path={path} isOn={set !== null} label={onOff} />}
          <p class='effect'>{effect}</p>
          <Fields fields={fields} spec={rule === 'jwt' ? withJwtShown(spec, set) : spec} />
          {rule === 'jwt' ? <KnownClaims set={set} /> : null}
        </>
      );
    },
  };
}

export function AccessPage(
  { frame, shown, keys, isJson }: {
    frame: PoolPage;
    shown: Shown;
    keys: readonly Json[];
    isJson: boolean;
  },
) {
  if (isJson) return <JsonPage frame={frame} shown={shown} part='access' />;
  const act = `/admin/pools/${frame.view.name}/act`;
  return (
    <PoolLayout {...frame}>
      <Keys keys={keys} act={act} isOpen={frame.view.openTo !== null} />
      <h2>Rules</h2>
      <p>A call must pass every rule that is on. A change applies to the next call.</p>
      {POLICIES.map((policy) => (
        <section aria-label={policy.title} class='card'>
          <h3>{policy.title}</h3>
          <ChangeForm name={policy.rule} change={changeOf(policy)} shown={shown} />
        </section>
      ))}
      <AsJson tab='access' pool={frame.view.name} what='the rules' />
    </PoolLayout>
  );
}

function lowered(text: string): string {
  return `${text.slice(0, 1).toLowerCase()}${text.slice(1)}`;
}

/** The settings with the parts of a token's rule as their fields show them. */
function withJwtShown(spec: Json, set: Json | null): Json {
  if (set === null) return spec;
  const source = set['secretSet'] === true ? 'secret' : set['jwks'] === null ? 'jwksUrl' : 'jwks';
  const shown = { ...set, requiredClaims: claimsText(set['requiredClaims']), keysFrom: source };
  return { ...spec, access: { ...(spec['access'] as Json), jwt: shown } };
}

/** The names of claims whose values are stored: one that is not named any more is dropped. */
function KnownClaims({ set }: { set: Json | null }) {
  const claims = set?.['requiredClaims'] ?? [];
  const names = Array.isArray(claims) ? [] : Object.keys(claims);
  return (
    <input type='hidden' name='access.jwt.requiredClaims:known' value={JSON.stringify(names)} />
  );
}
