/**
 * The index from header name to the cell that says what it means. It is built once from the rows;
 * a lookup of a name that is of no interest costs one Map access and two substring tests. It must
 * never look at values.
 */
import type { Cell, Dialect, Field, Mark } from './dialect.ts';
import { type TimeUnit, WINDOW_WORD_MS } from './reset.ts';

/** A header name's meaning, complete. */
export interface Meaning {
  readonly family: string;
  /** Place of the family in the table; earlier ones win ties. */
  readonly rank: number;
  readonly cell: Cell;
  readonly field?: Field;
  readonly mark: Mark;
  readonly unit: TimeUnit | undefined;
  /** What `{name}` stood for. */
  readonly name: string;
}

export interface NameIndex {
  lookUp(lowerName: string): Meaning | undefined;
}

/** The plain window of a family: the one whose headers name no window. */
export const PLAIN: Mark = { key: '' };

/** Longer names are nobody's. */
const NAME_LENGTH_MAX = 128;

const FIELD_WORDS: Readonly<Record<string, { field: Field; unit?: TimeUnit }>> = {
  'limit': { field: 'limit' },
  'remaining': { field: 'remaining' },
  'used': { field: 'used' },
  'reset': { field: 'reset' },
  'reset-after': { field: 'resetAfter' },
  'reset-ms': { field: 'resetAfter', unit: 'ms' },
  'reset-after-ms': { field: 'resetAfter', unit: 'ms' },
  'reset-seconds': { field: 'resetAfter', unit: 'auto' },
};

const UNIT_WORDS: Readonly<Record<string, 'requests' | 'tokens'>> = {
  requests: 'requests',
  request: 'requests',
  req: 'requests',
  tokens: 'tokens',
};

interface OpenName {
  readonly prefix: string;
  readonly suffix: string;
  readonly meaning: Meaning;
}

export function indexNames(dialects: readonly Dialect[]): NameIndex {
  const exact = new Map<string, Meaning>();
  const open: OpenName[] = [];
  const relays: string[] = [];
  const families = new Map<string, number>();
  for (const dialect of dialects) {
    if (dialect.relayPrefix !== undefined) relays.push(dialect.relayPrefix);
    if (!families.has(dialect.family)) families.set(dialect.family, families.size);
    const rank = families.get(dialect.family) ?? 0;
    for (const [template, cell] of Object.entries(dialect.names)) {
      for (const { name, ...meaning } of expand({ template, cell, dialect, rank })) {
        const [prefix = '', suffix] = name.split('{name}');
        const found = { ...meaning, name: '' };
        if (suffix !== undefined) open.push({ prefix, suffix, meaning: found });
        else if (!exact.has(name)) exact.set(name, found);
      }
    }
  }

  function lookUp(lowerName: string): Meaning | undefined {
    const found = exact.get(lowerName);
    if (found !== undefined || lowerName.length > NAME_LENGTH_MAX) return found;
    for (const prefix of relays) {
      if (!lowerName.startsWith(prefix)) continue;
      return relayed(prefix, lookUp(lowerName.slice(prefix.length)));
    }
    return lowerName.includes('limit') ? lookUpOpen(open, lowerName) : undefined;
  }
  return { lookUp };
}

function lookUpOpen(open: readonly OpenName[], lowerName: string): Meaning | undefined {
  for (const { prefix, suffix, meaning } of open) {
    if (!lowerName.startsWith(prefix) || !lowerName.endsWith(suffix)) continue;
    const name = lowerName.slice(prefix.length, lowerName.length - suffix.length);
    if (name === '' || lowerName.length <= prefix.length + suffix.length) continue;
    const { cell } = meaning;
    if (cell.accepts !== undefined && !cell.accepts(name)) continue;
    if (cell.isFamilyName) return { ...meaning, name, family: `${meaning.family} ${name}` };
    // A row with a mark of its own has many names for one window, one without has a window a name.
    return cell.mark === undefined
      ? { ...meaning, name, mark: { key: name, name, namesScope: 'always' } }
      : { ...meaning, name };
  }
  return undefined;
}

/** What a relay repeats is a family apart, and its retry hints rank behind the relay's own. */
function relayed(prefix: string, meaning: Meaning | undefined): Meaning | undefined {
  if (meaning === undefined || meaning.field === 'age' || meaning.field === 'date') {
    return undefined;
  }
  const rank = (meaning.cell.rank ?? VENDOR_RETRY_RANK) + VENDOR_RETRY_RANK + 1;
  return { ...meaning, family: `${prefix}${meaning.family}`, cell: { ...meaning.cell, rank } };
}

/** Rank of a retry hint under a vendor's own name, behind all the standard ones. */
export const VENDOR_RETRY_RANK = 3;

interface RowName {
  readonly template: string;
  readonly cell: Cell;
  readonly dialect: Dialect;
  readonly rank: number;
}

/** Every name that a template stands for, `{name}` left in place. */
function* expand({ template, cell, dialect, rank }: RowName): Generator<Meaning> {
  const fields = template.includes('{field}') ? Object.entries(FIELD_WORDS) : [['', {}] as const];
  const units = template.includes('{unit}')
    ? Object.entries(UNIT_WORDS)
    : [['', undefined] as const];
  const windows = template.includes('{window}')
    ? Object.entries(WINDOW_WORD_MS)
    : [['', undefined] as const];
  const rowUnit = dialect.reset === 'none' || dialect.reset === 'auto' ? undefined : dialect.reset;
  for (const [fieldWord, spelled] of fields) {
    for (const [unitWord, unit] of units) {
      for (const [windowWord, windowMs] of windows) {
        const name = template.replace('{field}', fieldWord).replace('{unit}', unitWord)
          .replace('{window}', windowWord);
        const { field, unit: fieldUnit }: { field?: Field; unit?: TimeUnit } = spelled;
        const kind = cell.field ?? field;
        yield {
          name,
          family: dialect.family,
          rank,
          cell,
          ...(kind === undefined ? {} : { field: kind }),
          unit: cell.unit ?? fieldUnit ?? rowUnit,
          mark: markOf(cell.mark, unit, { windowWord, windowMs }),
        };
      }
    }
  }
}

function markOf(
  mark: Mark = PLAIN,
  unit: 'requests' | 'tokens' | undefined,
  { windowWord, windowMs }: { windowWord: string; windowMs: number | undefined },
): Mark {
  if (unit === undefined && windowWord === '') return mark;
  return {
    ...mark,
    key: [mark.key, unit ?? '', windowWord].join(' '),
    ...(unit === undefined ? {} : { unit }),
    ...(windowMs === undefined ? {} : { windowMs }),
  };
}
