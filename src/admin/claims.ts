/**
 * The claims that a token must have, as lines of text and back: a name, or `name = value` where the
 * value is JSON, or text where it is no JSON. What is read back is what was shown.
 */
import { jsonOrText } from '../json.ts';
type Value = string | number | boolean | readonly (string | number | boolean)[];

export function claimsText(claims: unknown): string {
  if (typeof claims !== 'object' || claims === null) return '';
  if (Array.isArray(claims)) return claims.map((name) => nameText(String(name))).join('\n');
  return Object.entries(claims).map(([name, value]) =>
    `${nameText(name)} = ${valueText(value as Value)}`
  ).join('\n');
}

/** @throws SyntaxError where some lines have a value and others have none. */
export function claimsOf(text: string): readonly string[] | Readonly<Record<string, unknown>> {
  const rows = text.split('\n').map((line) => line.trim()).filter((line) => line !== '').map(split);
  if (rows.every(({ value }) => value === null)) return rows.map(({ name }) => name);
  const lacking = rows.find(({ value }) => value === null);
  if (lacking !== undefined) {
    throw new SyntaxError(`the claim ${lacking.name} has no value, and others have one`);
  }
  const claims: Record<string, unknown> = Object.create(null);
  for (const { name, value } of rows) claims[name] = jsonOrText(value ?? '');
  return claims;
}

const QUOTED_NAME = /^("(?:[^"\\]|\\.)*")\s*(?:=\s*(.*))?$/;

function split(line: string): { name: string; value: string | null } {
  const [, quoted, value = null] = QUOTED_NAME.exec(line) ?? [];
  if (quoted !== undefined) return { name: JSON.parse(quoted) as string, value };
  const end = line.indexOf('=');
  if (end < 0) return { name: line, value: null };
  return { name: line.slice(0, end).trim(), value: line.slice(end + 1).trim() };
}

function nameText(name: string): string {
  return /^[^="\s][^=\s]*$/.test(name) ? name : JSON.stringify(name);
}

function valueText(value: Value): string {
  const isPlain = typeof value === 'string' && /^\S(.*\S)?$/.test(value) &&
    jsonOrText(value) === value;
  return isPlain ? value : JSON.stringify(value);
}
