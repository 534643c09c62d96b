/**
 * The shape of a pool's `upstream` settings, as zod schemas: where proxied requests go, and the
 * credentials that they carry.
 */
import { z } from 'zod';
import { headerName, HIDDEN } from './wire_access.ts';

const whole = (min: number, max: number) => z.int().min(min).max(max);

/** Credentials must not take the place of what frames or routes a request. */
const FRAMING_HEADER =
  /^(host|connection|content-length|transfer-encoding|upgrade|te|x-nthpool-.*)$/;
const HOST_NAME = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/;

/** The value comes in, is kept, and is never shown; `secretSet` is what is shown in its place. */
const Credential = z.strictObject({
  name: z.string().regex(/^[A-Za-z0-9._-]{1,64}$/, 'must be 1 to 64 of letters, digits, . _ -'),
  header: headerName.refine((name) => !FRAMING_HEADER.test(name), 'must not be this header'),
  value: z.string().min(1).max(8192).regex(
    /^[\x20-\x7e\x80-\xff]+$/,
    'must be printable ASCII or Latin-1 only',
  ).meta(HIDDEN),
  secretSet: z.boolean().optional(),
}).transform(({ secretSet: _, ...credential }) => credential);

/** Where a pool's proxied requests go. */
export const UpstreamSpec = z.strictObject({
  url: z.string().max(2048).refine(isPlainUrl, {
    message:
      'must be an http or https URL without user, query and fragment, its path as it is sent',
  }),
  hosts: z.array(z.string().max(253).toLowerCase().regex(HOST_NAME, 'must be a host name')).max(64)
    .default([]),
  credentials: z.array(Credential).max(64).default([]).refine(
    (list) => new Set(list.map(({ name }) => name)).size === list.length,
    'must have different names',
  ),
  connectTimeoutMs: whole(1, 600_000).default(10_000),
  stallTimeoutMs: whole(1_000, 86_400_000).default(60_000),
  requestTimeoutMs: whole(1_000, 86_400_000).nullable().default(600_000),
  preserveHost: z.boolean().default(false),
  forwarded: z.boolean().default(false),
});

function isPlainUrl(text: string): boolean {
  const [, path] = /^https?:\/\/[^\s?#@/\\]+([^\s?#@\\]*)$/i.exec(text) ?? [];
  if (path === undefined || !URL.canParse(text)) return false;
  const { username, password, port, pathname } = new URL(text);
  // No port is 0, and a path with dots between its slashes would be another than is shown.
  return username === '' && password === '' && port !== '0' && (path || '/') === pathname;
}
