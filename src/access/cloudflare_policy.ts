/**
 * The Cloudflare Access policy: the token that Cloudflare's edge adds, in its header or its cookie,
 * signed by the team and meant for this application. A cookie proves nothing against a foreign
 * page, since browsers send it by themselves.
 */
import { remoteKeys, tokenVerdict } from './jwt_policy.ts';
import type { PolicyKind, PolicyVerdict } from './policy.ts';
import { TokenCheck } from './token_check.ts';

const HEADER = 'cf-access-jwt-assertion';
const COOKIE = 'CF_Authorization';
const CLOCK_TOLERANCE_S = 30;

const MISSING: PolicyVerdict = { kind: 'fail', reason: 'cloudflare access: missing' };
const TWICE: PolicyVerdict = { kind: 'fail', reason: 'cloudflare access: cookie repeated' };
const BY_HEADER: PolicyVerdict = { kind: 'pass', isProven: true, carriers: [HEADER] };
const BY_COOKIE: PolicyVerdict = {
  kind: 'pass',
  isProven: false,
  carriers: [`cookie:${COOKIE}`],
};

export const cloudflarePolicy: PolicyKind = {
  name: 'cloudflare access',
  make: ({ spec }, { epochMs, keySets }) => {
    const settings = spec.access.cloudflareAccess;
    if (settings === null) return null;
    const issuer = `https://${settings.teamDomain}`;
    const rules = {
      algorithms: ['RS256'],
      issuer,
      audience: settings.audience,
      clockToleranceS: CLOCK_TOLERANCE_S,
      requiredClaims: [],
    };
    const certsUrl = settings.certsUrl ?? `${issuer}/cdn-cgi/access/certs`;
    const check = new TokenCheck(rules, remoteKeys(keySets.at(certsUrl)), epochMs);
    return {
      judge: ({ headers }) => {
        const token = headers.get(HEADER);
        if (token !== null) return tokenVerdict(check.check(token), BY_HEADER, 'cloudflare access');
        const [cookie, ...more] = cookiesNamed(headers.get('cookie') ?? '', COOKIE);
        if (cookie === undefined) return MISSING;
        if (more.length > 0) return TWICE;
        return tokenVerdict(check.check(cookie), BY_COOKIE, 'cloudflare access');
      },
    };
  },
};

/** Several Cookie lines come joined by a comma, which no cookie's value may hold. */
function cookiesNamed(header: string, name: string): string[] {
  return header.split(/[;,] */).filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1));
}
