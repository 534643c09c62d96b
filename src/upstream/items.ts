/**
 * Splits list-valued headers: at commas into items, at semicolons into an item's value and
 * parameters, and never inside quotes. It reads what RFC 9651 lists allow and what is sent in their
 * name, for which a strict parser is no use: one vendor's live policy puts a quoted string where a
 * key must stand, others put blanks there. It knows nothing of rates, and its time is linear.
 */

export interface Item {
  /** The first part, unquoted. */
  readonly value: string;
  /** Further parts that are quoted strings without a key. */
  readonly texts: readonly string[];
  /** Parameters by lower-case key, unquoted. */
  readonly parameters: ReadonlyMap<string, string>;
}

/** More items than any list of windows has; the rest is not read. */
const ITEMS_MAX = 64;

/** The items of a list; none at all where a quote is never closed. */
export function readItems(text: string): Item[] {
  const items: Item[] = [];
  for (const parts of splitParts(text)) {
    const [value = '', ...rest] = parts;
    if (value === '') continue;
    const texts: string[] = [];
    const parameters = new Map<string, string>();
    for (const part of rest) {
      if (part.startsWith('"')) texts.push(unquote(part));
      else readPair(part, parameters);
    }
    items.push({ value: unquote(value), texts, parameters });
  }
  return items;
}

/** The pairs of `key=value` in all parts of all items; what is no pair is left out. */
export function readPairs(text: string): Map<string, string> {
  const pairs = new Map<string, string>();
  for (const parts of splitParts(text)) {
    for (const part of parts) readPair(part, pairs);
  }
  return pairs;
}

/** What stands before the comma of an HTTP-date, in its short form or its long one. */
const WEEKDAY = /^(?:mon|tue|wed|thu|fri|sat|sun|(?:mon|tues|wednes|thurs|fri|satur|sun)day)$/i;

/** Splits at commas only, but keeps the comma behind the weekday of a date. */
export function splitList(text: string): string[] {
  const pieces = text.split(',', 2 * ITEMS_MAX);
  const values: string[] = [];
  for (let at = 0; at < pieces.length && values.length < ITEMS_MAX; at++) {
    const piece = (pieces[at] ?? '').trim();
    const next = pieces[at + 1];
    if (next !== undefined && WEEKDAY.test(piece)) {
      values.push(`${piece}, ${next.trim()}`);
      at++;
    } else if (piece !== '') {
      values.push(piece);
    }
  }
  return values;
}

function splitParts(text: string): string[][] {
  const items: string[][] = [];
  let parts: string[] = [];
  let start = 0;
  let isQuoted = false;
  for (let at = 0; at <= text.length; at++) {
    const character = text[at];
    if (isQuoted) {
      if (character === '\\') at++;
      else if (character === '"') isQuoted = false;
    } else if (character === '"') {
      isQuoted = true;
    } else if (character === ',' || character === ';' || character === undefined) {
      parts.push(text.slice(start, at).trim());
      start = at + 1;
      if (character === ';') continue;
      items.push(parts);
      parts = [];
      if (items.length === ITEMS_MAX) return items;
    }
  }
  return isQuoted ? [] : items;
}

function readPair(part: string, pairs: Map<string, string>): void {
  const equals = part.indexOf('=');
  if (equals <= 0) return;
  pairs.set(part.slice(0, equals).trim().toLowerCase(), unquote(part.slice(equals + 1).trim()));
}

function unquote(text: string): string {
  if (text.length < 2 || !text.startsWith('"') || !text.endsWith('"')) return text;
  return text.slice(1, -1).replaceAll(/\\(.)/g, '$1');
}
