/**
 * The table of all forms that change a pool's settings, by the names to which they are sent.
 */
import { RULES } from './access.tsx';
import { AS_JSON } from './as_json.tsx';
import type { Change } from './change_form.tsx';
import { SETTINGS } from './settings.tsx';

const ALL: Readonly<Record<string, Change>> = { ...SETTINGS, ...RULES, ...AS_JSON };

export function changeOf(name: string): Change | undefined {
  return Object.hasOwn(ALL, name) ? ALL[name] : undefined;
}
