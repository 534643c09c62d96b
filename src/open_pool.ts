/**
 * Which pools anybody may call who reaches the server, for all who warn of them: the start, the
 * page and the console.
 */
import type { AccessSpec } from './wire_access.ts';

/** Who may call a pool without any proof; null where each caller must prove something. */
export function openTo({ key, hmac, jwt, cloudflareAccess, ip }: AccessSpec): string | null {
  if (key.required || hmac !== null || jwt !== null || cloudflareAccess !== null) return null;
  return ip.allow.length > 0 ? 'every address on its list' : 'anybody';
}
