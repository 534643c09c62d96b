/**
 * Which server a command talks to.
 */
import { EXIT, Stop } from './command.ts';

const VARIABLE = 'NTHBOUNCER_URL';
const FALLBACK = 'http://127.0.0.1:8787';

export function serverUrl(): string {
  const text = Deno.env.get(VARIABLE) || FALLBACK;
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url !== null && /^https?:$/.test(url.protocol) && url.username === '') {
    return text.replace(/\/+$/, '');
  }
  throw new Stop(EXIT.usage, `${VARIABLE} must be an http or https URL without credentials`);
}
