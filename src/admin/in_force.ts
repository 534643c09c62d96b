/**
 * One sentence for each of a pool's rules: what it does to a call, in plain words. The page shows
 * them beside the forms, before a change and after it.
 */
import type { Json } from './shapes.ts';
import { at } from './shapes.ts';

export type Rule = 'key' | 'ip' | 'hmac' | 'jwt' | 'cloudflareAccess' | 'upstream';

/** What the pool with these settings does now. */
export function inForce(rule: Rule, spec: Json): string {
  const set = at(spec, rule === 'upstream' ? rule : `access.${rule}`) as Json | null | undefined;
  return set === null || set === undefined ? OFF[rule] : SENTENCES[rule](set, spec);
}

const OFF: Readonly<Record<Rule, string>> = {
  key: 'A call needs a key.',
  ip: 'Calls may come from any address.',
  hmac: 'Off: a call needs no signature.',
  jwt: 'Off: a call needs no token.',
  cloudflareAccess: 'Off: a call need not come through Cloudflare Access.',
  upstream: 'Off: the pool gives slots to callers of the lock API, and forwards nothing.',
};

const SENTENCES: Readonly<Record<Rule, (set: Json, spec: Json) => string>> = {
  key: (set, spec) => {
    const schemes = list(set['authorization']).map((scheme) => `Authorization: ${scheme}`);
    const places = ['X-Nthpool-Key', ...schemes, ...list(set['headers'])].join(', ');
    if (set['required'] !== false) return `A call needs a key of this pool, in ${places}.`;
    return `A call needs no key; a key that is wrong is refused all the same.${openness(spec)}`;
  },
  ip: ({ allow, deny }) => {
    const [allowed, denied] = [list(allow), list(deny)];
    const from = allowed.length === 0 ? 'any address' : few(allowed);
    return `Calls may come from ${from}${denied.length === 0 ? '' : `, but not ${few(denied)}`}.`;
  },
  hmac: (set) =>
    `Each call must be signed, with a timestamp within ${seconds(set['toleranceMs'])} s and a ` +
    'nonce that was not used before; proxied uploads are read before they are sent on.',
  jwt: (set) => {
    const from = set['secretSet'] === true
      ? 'by the secret'
      : set['jwks'] === null
      ? `by the keys at ${String(set['jwksUrl'])}`
      : 'by the public keys given';
    const where = set['header'] === null ? 'Authorization: Bearer' : String(set['header']);
    return `Each call must bring a token in ${where}, signed ${from} with ${
      list(set['algorithms']).join(' or ')
    }${named(' by ', set['issuer'])}${named(' for ', set['audience'])}.${laxness(set)}`;
  },
  cloudflareAccess: (set) =>
    `Each call must come through Cloudflare Access of ${String(set['teamDomain'])}, for ${
      few(list(set['audience']))
    }.`,
  upstream: (set) => {
    const credentials = list(set['credentials']).length;
    const with_ = credentials === 0 ? 'the caller’s own credentials' : `${credentials} of ours`;
    return `Requests to the pool’s host are forwarded to ${String(set['url'])}, with ${with_}.`;
  },
};

/** Where a token of the same keys passes that was never meant for this pool. */
function laxness({ issuer, audience }: Json): string {
  const open = [['issuer', issuer], ['audience', audience]].filter(([, set]) => set === null);
  if (open.length === 0) return '';
  const any = open.map(([name]) => `any ${String(name)}`).join(' and ');
  return ` Tokens of ${any} pass: set both, since one key often signs for many applications.`;
}

/** Where nothing else asks who calls either. */
function openness(spec: Json): string {
  const others = ['hmac', 'jwt', 'cloudflareAccess'].map((name) => at(spec, `access.${name}`));
  return others.some((set) => set !== null && set !== undefined)
    ? ''
    : ' Nothing else asks who calls: whoever reaches the port gets slots.';
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : value === null || value === undefined ? [] : [value];
}

function few(values: readonly unknown[]): string {
  const shown = values.slice(0, 3).join(', ');
  return values.length > 3 ? `${shown} and ${values.length - 3} more` : shown;
}

function named(word: string, value: unknown): string {
  const values = list(value);
  return values.length === 0 ? '' : `${word}${few(values)}`;
}

function seconds(ms: unknown): number {
  return Number(ms) / 1000;
}
