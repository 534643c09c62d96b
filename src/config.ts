/**
 * The settings of `serve`, one row each: flag, environment variable, default, and what makes a
 * value right. A flag wins over its variable. The README lists the same rows, and a test holds both
 * together.
 */
import { z } from 'zod';
import { isCidr, plainAddress } from './cidr.ts';
import { POOL_NAME } from './wire.ts';

const HOST = 'must be an address or a host name';
const host = z.string().regex(/^[A-Za-z0-9._:-]+$/, HOST).refine((text) => {
  const isNumeric = text.includes(':') || /^\d+(\.\d+){3}$/.test(text);
  return !isNumeric || plainAddress(text) !== null;
}, HOST);
const port = z.string().regex(/^\d{1,5}$/, 'must be a whole number').transform(Number)
  .pipe(z.number().max(65_535, 'must be at most 65535'));
const path = z.string().min(1, 'must name a file');
const DATABASE_URLS = 'file:./data/nthbouncer.db or libsql://db.example';
const UNSEEN = 'what came is not shown, since it may hold a secret';
/** What is a path without doubt, and no token, is shown. */
const DATABASE_PATH = /^[\w./-]+\.(db|sqlite3?)$/;
const databaseUrl = z.string().regex(
  /^(file:(?!\/\/[^/]).|(libsql|wss?|https?):\/\/[^/]).*$/,
  {
    error: ({ input }) =>
      DATABASE_PATH.test(String(input))
        ? `must be a URL: ${input} came; did you mean file:${input}?`
        : `must be a libSQL URL such as ${DATABASE_URLS}; ${UNSEEN}`,
  },
).refine(
  (url) => !/^file:.*[?#]/.test(url),
  `must have no query or fragment after file: (%3F and %23 stand for ? and # in a name); ${UNSEEN}`,
).refine(
  (url) => !/^file:/.test(url) || isEncoded(url),
  `must have two hex digits, and not 00, after each % of file:; ${UNSEEN}`,
).refine(hasPlainToken, `must have an authToken of visible ASCII characters; ${UNSEEN}`);

function isEncoded(text: string): boolean {
  try {
    return !decodeURIComponent(text).includes('\0');
  } catch {
    return false;
  }
}

/** Any other token would be quoted by whoever cannot send it. */
function hasPlainToken(url: string): boolean {
  const token = URL.canParse(url) ? new URL(url).searchParams.get('authToken') : null;
  return token === null || /^[\x21-\x7e]*$/.test(token);
}

const LABEL = '[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?';
/** In lower case, as what it is compared with is. */
const domain = z.string().max(253).regex(
  new RegExp(`^${LABEL}(\\.${LABEL})*$`),
  'must be a domain name',
).toLowerCase();
/** A listener on which every request is one pool's. */
export interface PoolListen {
  readonly pool: string;
  readonly host: string;
  readonly port: number;
}

const POOL_LISTEN = /^([\w-]+)=(.+):(\d{1,5})$/;
const poolListen = z.string().transform((text, context): PoolListen[] =>
  text.split(',').flatMap((part) => {
    const [, pool = '', address = '', digits = ''] = POOL_LISTEN.exec(part.trim()) ?? [];
    const bound = host.safeParse(address.replace(/^\[(.*)\]$/, '$1'));
    const isBound = pool !== '' && bound.success && Number(digits) <= 65_535;
    if (isBound && POOL_NAME.test(pool)) return [{ pool, host: bound.data, port: Number(digits) }];
    const message = isBound
      ? `must name a pool by 1 to 63 of a-z, 0-9 and inner hyphens; ${pool} came`
      : 'must be POOL=HOST:PORT, separated by commas';
    context.addIssue({ code: 'custom', message });
    return [];
  })
);
const drainMs = z.string().regex(/^\d{1,7}$/, 'must be a whole number of ms').transform(Number)
  .pipe(z.number().max(3_600_000, 'must be at most 3600000'));

const cidrs = z.string().transform((text) => text.split(',').map((one) => one.trim()))
  .pipe(z.array(z.string().refine(isCidr, 'must be addresses or ranges such as 10.0.0.0/8')));
const clientIpHeader = z.string().toLowerCase().pipe(
  z.enum(['x-forwarded-for', 'cf-connecting-ip'], 'must be x-forwarded-for or cf-connecting-ip'),
);

export interface Setting {
  readonly flag: string;
  readonly environment: string;
  /** As a person would type it; undefined: none. */
  readonly fallback: string | undefined;
  readonly schema: z.ZodType<
    string | number | readonly string[] | readonly PoolListen[],
    string
  >;
  readonly about: string;
  /** What is amiss says itself what of the value may be shown. */
  readonly mayHoldSecret?: boolean;
}

export const SETTINGS = {
  host: {
    flag: '--host <address>',
    environment: 'NTHBOUNCER_HOST',
    fallback: '127.0.0.1',
    schema: host,
    about: 'the address to listen on',
  },
  port: {
    flag: '--port <number>',
    environment: 'NTHBOUNCER_PORT',
    fallback: '8787',
    schema: port,
    about: 'the port to listen on; 0: any free port',
  },
  db: {
    flag: '--db <url>',
    environment: 'NTHBOUNCER_DB',
    fallback: 'file:./data/nthbouncer.db',
    schema: databaseUrl,
    about: 'the database, any libSQL URL',
    mayHoldSecret: true,
  },
  baseDomain: {
    flag: '--base-domain <domain>',
    environment: 'NTHBOUNCER_BASE_DOMAIN',
    fallback: 'localhost',
    schema: domain,
    about: 'every host one label below it is a pool host',
  },
  poolListen: {
    flag: '--pool-listen <pool=host:port,…>',
    environment: 'NTHBOUNCER_POOL_LISTEN',
    fallback: undefined,
    schema: poolListen,
    about: "further listeners on which every request is that pool's",
  },
  config: {
    flag: '--config <file>',
    environment: 'NTHBOUNCER_CONFIG',
    fallback: undefined,
    schema: path,
    about: 'a JSON file of pools',
  },
  trustedProxies: {
    flag: '--trusted-proxies <ranges>',
    environment: 'NTHBOUNCER_TRUSTED_PROXIES',
    fallback: undefined,
    schema: cidrs,
    about: "proxies whose word about the caller's address is taken: CIDR,…",
  },
  clientIpHeader: {
    flag: '--client-ip-header <name>',
    environment: 'NTHBOUNCER_CLIENT_IP_HEADER',
    fallback: 'x-forwarded-for',
    schema: clientIpHeader,
    about: 'the header that is read from them: x-forwarded-for or cf-connecting-ip',
  },
  tlsCert: {
    flag: '--tls-cert <file>',
    environment: 'NTHBOUNCER_TLS_CERT',
    fallback: undefined,
    schema: path,
    about: 'a PEM file with the certificate chain; goes with --tls-key',
  },
  tlsKey: {
    flag: '--tls-key <file>',
    environment: 'NTHBOUNCER_TLS_KEY',
    fallback: undefined,
    schema: path,
    about: 'a PEM file with the private key; goes with --tls-cert',
  },
  drainMs: {
    flag: '--drain-ms <ms>',
    environment: 'NTHBOUNCER_DRAIN_MS',
    fallback: '5000',
    schema: drainMs,
    about: 'how long requests under way may take to end at a stop',
  },
} as const satisfies Record<string, Setting>;

type Name = keyof typeof SETTINGS;
type Value<N extends Name> = z.output<(typeof SETTINGS)[N]['schema']>;
type Optional = { [N in Name]: (typeof SETTINGS)[N]['fallback'] extends string ? never : N }[Name];

/** All settings of `serve`, checked. */
export type ServeSettings =
  & { readonly [N in Exclude<Name, Optional>]: Value<N> }
  & { readonly [N in Optional]?: Value<N> };

/** The shortest admin token that is taken from the environment. */
export const ADMIN_TOKEN_LENGTH_MIN = 32;
