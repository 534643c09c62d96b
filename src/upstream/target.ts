/**
 * Where a pool's proxied requests go, as its settings say it: taken apart once for all requests.
 */
import type { CredentialSpec } from './credentials.ts';
import { Credentials } from './credentials.ts';
import type { Origin } from './forward/dial.ts';

export interface UpstreamSpec {
  readonly url: string;
  readonly hosts: readonly string[];
  readonly credentials: readonly CredentialSpec[];
  readonly connectTimeoutMs: number;
  readonly stallTimeoutMs: number;
  readonly requestTimeoutMs: number | null;
  readonly preserveHost: boolean;
  readonly forwarded: boolean;
}

export interface Target {
  readonly spec: UpstreamSpec;
  readonly origin: Origin;
  /** What stands before the path of every request; without a slash at its end. */
  readonly basePath: string;
  /** The upstream's `Host`. */
  readonly host: string;
  readonly credentials: Credentials;
}

/** @param before the same pool's target until now. */
export function targetOf(spec: UpstreamSpec, before: Target | null = null): Target {
  const url = new URL(spec.url);
  const isTls = url.protocol === 'https:';
  const port = url.port === '' ? (isTls ? 443 : 80) : Number(url.port);
  return {
    spec,
    origin: { hostname: url.hostname.replace(/^\[|\]$/g, ''), port, isTls },
    basePath: url.pathname.replace(/\/$/, ''),
    host: url.host,
    credentials: new Credentials(spec.credentials, before?.credentials),
  };
}
