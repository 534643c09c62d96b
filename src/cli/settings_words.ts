/**
 * Settings of a pool as words of a command line: `concurrency.limit=8 queue.timeoutMs=5000`. A
 * value is JSON where it reads as JSON, else text.
 */
import { EXIT, Stop } from './command.ts';
import { jsonOrText } from '../json.ts';

/** The words as one object of changes. @throws Stop */
export function settingsOf(words: readonly string[]): Record<string, unknown> {
  const settings: Record<string, unknown> = {};
  for (const word of words) {
    const at = word.indexOf('=');
    const names = word.slice(0, at).split('.');
    const isPath = at > 0 && names.every((name) => /^[A-Za-z][A-Za-z0-9]*$/.test(name));
    if (!isPath) {
      throw new Stop(EXIT.usage, `${word}: a setting is wanted, as in concurrency.limit=8`);
    }
    put(settings, names, jsonOrText(word.slice(at + 1)));
  }
  return settings;
}

function put(settings: Record<string, unknown>, names: readonly string[], value: unknown): void {
  const [name = '', ...rest] = names;
  if (rest.length === 0) {
    settings[name] = value;
    return;
  }
  const known = Object.hasOwn(settings, name) ? settings[name] : undefined;
  const below = typeof known === 'object' && known !== null ? known : {};
  settings[name] = below;
  put(below as Record<string, unknown>, rest, value);
}
