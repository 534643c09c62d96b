/**
 * The head of a proxied request as the upstream gets it: what came, less what was meant for this
 * server or for this connection alone, with the upstream's host and a managed credential. Nothing
 * else is added or changed.
 */
import type { HeaderLines } from '../http1/header_lines.ts';
import type { BodyFraming } from '../http1/incoming.ts';
import { plainAddress } from '../cidr.ts';
import { CarriedSecrets } from './carried_secrets.ts';
import type { PeerWord } from './scheme.ts';
import { schemeOf } from './scheme.ts';
import { SESSION_COOKIE } from './session.ts';
import type { Credential } from '../upstream/credentials.ts';
import type { Target } from '../upstream/target.ts';

export interface HeadParts {
  readonly method: string;
  /** Path and query as they came. */
  readonly path: string;
  readonly headers: HeaderLines;
  /** The caller's `Host`. */
  readonly host: string;
  readonly target: Target;
  readonly credential: Credential | null;
  /** What carried what this server checked: header names in lower case, `cookie:name`. */
  readonly carriers: readonly string[];
  /** How the body is framed on the way up. */
  readonly body: BodyFraming;
  readonly peer: PeerFacts;
  /** Whether the caller asks for WebSocket. */
  readonly isUpgrade: boolean;
}

export interface PeerFacts extends PeerWord {
  readonly address: string | null;
}

/** Headers of one connection, not of the message. */
export const HOP_BY_HOP: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
]);

const FORWARDED = /^(x-forwarded(-.*)?|forwarded|x-real-ip)$/;
const OWN = /^(x-nthpool-|cf-access-)/;
const ACCESS_COOKIE = /^\s*CF_Authorization\s*=/;

export function requestHead(parts: HeadParts): string {
  const { headers, target, credential, body } = parts;
  const named = headers.words('connection');
  const checked = parts.carriers.filter((name) => !name.startsWith('cookie:'));
  const secrets = new CarriedSecrets(checked.map((name) => headers.get(name) ?? ''));
  const injected = credential?.header ?? '';
  const host = target.spec.preserveHost ? parts.host : target.host;
  const path = parts.path === '*' ? (target.basePath || '*') : target.basePath + parts.path;
  let head = `${parts.method} ${path} HTTP/1.1\r\nhost: ${host}\r\n`;
  headers.forEach((value, name, asCame) => {
    if (isDropped(name, parts) || name === injected || named.includes(name)) return;
    if (name === 'cookie') {
      const kept = foreignCookies(value, parts.carriers, secrets);
      if (kept !== '') head += `${asCame}: ${kept}\r\n`;
    } else if (!secrets.areIn(value)) head += `${asCame}: ${value}\r\n`;
  });
  if (body.kind === 'length') head += `content-length: ${body.bytes}\r\n`;
  else if (body.kind === 'chunked') head += 'transfer-encoding: chunked\r\n';
  if (target.spec.forwarded) head += forwardedLines(parts);
  if (parts.isUpgrade) head += UPGRADE;
  if (credential !== null) head += `${injected}: ${credential.value}\r\n`;
  return `${head}\r\n`;
}

const UPGRADE = 'connection: Upgrade\r\nupgrade: websocket\r\n';

function isDropped(name: string, { carriers }: HeadParts): boolean {
  if (carriers.includes(name)) return true;
  switch (name.charCodeAt(0)) {
    case 104: // h
      return name === 'host' || name === 'http2-settings';
    case 99: // c
      return name === 'content-length' || name === 'connection' || OWN.test(name);
    case 120: // x
    case 102: // f
      return OWN.test(name) || FORWARDED.test(name);
    default:
      return HOP_BY_HOP.has(name);
  }
}

function foreignCookies(
  value: string,
  carriers: readonly string[],
  secrets: CarriedSecrets,
): string {
  const isPlain = carriers.length === 0 && !value.includes('CF_Authorization') &&
    !value.includes('nthbouncer');
  if (isPlain) return value;
  return value.split(';').filter((pair) => {
    const name = pair.slice(0, pair.indexOf('=')).trim();
    const isOwn = SESSION_COOKIE.test(pair) || ACCESS_COOKIE.test(pair);
    return !isOwn && !carriers.includes(`cookie:${name}`) && !secrets.areIn(pair);
  }).join(';').trim();
}

function forwardedLines({ headers, peer, host }: HeadParts): string {
  const before = (name: string) => peer.isTrusted ? headers.get(name) : null;
  const address = plainAddress(peer.address ?? '') ?? 'unknown';
  const chain = before('x-forwarded-for');
  return `x-forwarded-for: ${chain === null ? address : `${chain}, ${address}`}\r\n` +
    `x-forwarded-proto: ${schemeOf(headers, peer)}\r\n` +
    `x-forwarded-host: ${before('x-forwarded-host') ?? host}\r\n`;
}
