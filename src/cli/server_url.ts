/**
 * Which server a command talks to.
 */
import { EXIT, Stop } from './command.ts';

const VARIABLE = 'NTHBOUNCER_URL';
const FALLBACK = 'http://127.0.0.1:8787';

export function serverUrl(): string {
  const text = Deno.env.get(VARIABLE) ?? FALLBACK;
  const url = URL.canParse(text) ? new URL(text) : null;
  // It is shown in errors, so no part of it may be a secret.
  const isPlain = url !== null && /^https?:$/.test(url.protocol) && !/[@?#]/.test(text);
  // As it was read, since what was typed may have spaces around it.
  if (isPlain) return url.href.replace(/\/+$/, '');
  const wanted = 'an http or https URL without user, query and fragment';
  throw new Stop(EXIT.usage, `${VARIABLE} must be ${wanted}; what came is not shown`);
}
