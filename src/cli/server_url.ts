/**
 * Which server a command talks to.
 */
import { plainUrl } from '../client/plain_url.ts';
import { EXIT, Stop } from './command.ts';

const VARIABLE = 'NTHBOUNCER_URL';
const FALLBACK = 'http://127.0.0.1:8787';

export function serverUrl(): string {
  const url = plainUrl(Deno.env.get(VARIABLE) ?? FALLBACK);
  if (url !== null) return url;
  const wanted = 'an http or https URL without user, query and fragment';
  throw new Stop(EXIT.usage, `${VARIABLE} must be ${wanted}; what came is not shown`);
}
