/**
 * The one parser of rate headers: runs the table of dialects over an answer's headers and gives the
 * normal form. It never throws, never guesses what an upstream did not say, and its time is linear
 * in the size of the headers. What the windows add up to is reading.ts's affair.
 */
import type { RateReading } from '../core/outcome.ts';
import { readBody } from './body.ts';
import { countOf, percentOf, readCounts, readPolicies } from './counts.ts';
import type { Field, Finding, Hints, Mark } from './dialect.ts';
import { DIALECTS } from './dialects.ts';
import { readItems, readPairs, splitList } from './items.ts';
import { indexNames, type Meaning, VENDOR_RETRY_RANK } from './names.ts';
import { type Found, summarize } from './reading.ts';
import {
  longestOf,
  readDecimal,
  readInstant,
  readReset,
  readWindowMs,
  type TimeUnit,
} from './reset.ts';
import { type Draft, draftOf, type Family, type Values } from './windows.ts';

/** Names in any case; a `Headers` object is an iterable of pairs. */
export type HeaderSource =
  | Readonly<Record<string, string | readonly string[]>>
  | Iterable<readonly [string, string]>;

export interface ReadOptions {
  /** When the answer came, epoch ms. */
  readonly nowMs: number;
  readonly hints?: Hints;
  /** The answer's JSON body, parsed, where there is one: some vendors put the hint there. */
  readonly body?: unknown;
}

/**
 * More headers than any upstream sends of those whose names the upstream makes up in part; the rest
 * of these is not read. A name that the table has as it stands is read beside however many.
 */
const OPEN_NAMES_MAX = 64;
/** A longer value is not read. */
const VALUE_LENGTH_MAX = 8_192;
/** A server's clock counts as ahead of ours from here on; below it is its rounding, and latency. */
const SKEW_MS_MIN = 2_000;

const NAMES = indexNames(DIALECTS);
const NOTHING: RateReading = Object.freeze({});

interface Hit {
  readonly meaning: Meaning;
  readonly value: string;
}

/** Reads the rate headers, and the body's own hints, of one answer. */
export function readRates(headers: HeaderSource, options: ReadOptions): RateReading {
  const hits = collect(headers, new Map());
  const told = options.body === undefined ? undefined : readBody(options.body, options.nowMs);
  const tellingSize = hits.size - (hits.has('age') ? 1 : 0) - (hits.has('date') ? 1 : 0);
  if (tellingSize === 0 && told === undefined) return NOTHING;
  if (told?.headers !== undefined) collect(told.headers, hits, true);
  const age = valueOf(hits, 'age');
  // What a cache repeats was true once.
  if (splitList(age ?? '').some((text) => (readDecimal(text) ?? 0) > 0)) return NOTHING;

  const dating = { nowMs: serverNowMs(valueOf(hits, 'date'), options.nowMs), hints: options.hints };
  const found: Found = { families: new Map() };
  for (const hit of hits.values()) note(found, hit, dating);
  for (const finding of told?.findings ?? []) noteFinding(found, BODY, finding);
  return summarize(found);
}

function collect(source: HeaderSource, hits: Map<string, Hit>, isSecondary = false) {
  const known = isSecondary ? new Set(hits.keys()) : undefined;
  const pairs = Symbol.iterator in source ? source : Object.entries(source);
  let openNames = 0;
  for (const [name, value] of pairs as Iterable<readonly [string, unknown]>) {
    const lowerName = name.toLowerCase();
    const meaning = NAMES.lookUp(lowerName);
    if (meaning === undefined || known?.has(lowerName)) continue;
    // What a body repeats has no bearing on when this answer was made.
    if (isSecondary && (meaning.field === 'age' || meaning.field === 'date')) continue;
    for (const line of linesOf(value)) {
      const earlier = hits.get(lowerName)?.value;
      const isOpen = earlier === undefined && meaning.name !== '';
      if (isOpen && openNames >= OPEN_NAMES_MAX) break;
      // Repeated as it was it says nothing more, but beside another header's list each line counts.
      if (earlier === line && !SIDE_BY_SIDE.has(meaning.field)) continue;
      const joined = earlier === undefined ? line : `${earlier}, ${line}`;
      if (joined.length > VALUE_LENGTH_MAX) continue;
      hits.set(lowerName, { meaning, value: joined });
      if (isOpen) openNames += 1;
    }
  }
  return hits;
}

const SIDE_BY_SIDE: ReadonlySet<Field | undefined> = new Set<Field>([
  'limit',
  'remaining',
  'used',
  'resetAfter',
  'reset',
  'resetTime',
]);

/** Trimmed; callers hand on what others sent, so that types are no promise here. */
function linesOf(value: unknown): readonly string[] {
  const lines: readonly unknown[] = Array.isArray(value) ? value : [value];
  return lines.filter((line) => typeof line === 'string' || typeof line === 'number')
    .map((line) => String(line).trim());
}

function valueOf(hits: ReadonlyMap<string, Hit>, name: string): string | undefined {
  return hits.get(name)?.value;
}

/**
 * The instant from which the server's dates are to be counted. A `Date` ahead of our clock can only
 * be skew. One behind it may be no more than a late report, and is not believed.
 */
function serverNowMs(date: string | undefined, nowMs: number): number {
  const dateMs = date === undefined ? undefined : readInstant(date, nowMs);
  return dateMs !== undefined && dateMs - nowMs >= SKEW_MS_MIN ? dateMs : nowMs;
}

interface Dating {
  readonly nowMs: number;
  readonly hints: Hints | undefined;
}

/** Takes one header's value into what was found. */
function note(found: Found, { meaning, value }: Hit, dating: Dating): void {
  const { cell, field, mark } = meaning;
  if (cell.read !== undefined) {
    for (const finding of cell.read(value, meaning.name)) noteFinding(found, meaning, finding);
    return;
  }
  switch (field) {
    case 'age':
    case 'date':
    case undefined:
      return;
    case 'retryAfter':
      return noteRetry(found, longestOf(readTimes(value, meaning.unit, dating)), cell.rank);
    case 'scope':
      return noteScope(found, value);
    case 'flag':
      if (value.toLowerCase() === 'true') found.flag ??= cell.mark?.name;
      return;
    case 'policy':
      return notePolicies(found, meaning, value);
    case 'combined':
      return noteCombined(found, meaning, { value, dating });
  }
  const family = familyOf(found, meaning);
  const draft = draftOf(family.drafts, mark);
  switch (field) {
    case 'limit':
      notePoliciesOfLimit(family, value);
      return void keepFirst(draft, 'limits', readCounts(value));
    case 'remaining':
      return void keepFirst(draft, 'remainings', readCounts(value));
    case 'used':
      return void keepFirst(draft, 'useds', readCounts(value));
    case 'usedPercent':
      draft.usedPercent ??= percentOf(readDecimal(value));
      return;
    case 'window':
      draft.windowMs ??= readWindowMs(value, meaning.unit ?? 'auto');
      return;
    case 'resetAfter':
    case 'reset':
    case 'resetTime':
      return noteReset(draft, RESET_RANKS[field], readTimes(value, meaning.unit, dating));
  }
}

const RESET_RANKS = { resetAfter: 0, reset: 1, resetTime: 2 } as const;

/** Where the findings of a body belong. */
const BODY = { family: 'body', rank: Number.MAX_SAFE_INTEGER };

function familyOf(found: Found, { family, rank }: { family: string; rank: number }): Family {
  let known = found.families.get(family);
  if (known === undefined) {
    known = { rank, drafts: new Map(), states: new Map(), policies: [] };
    found.families.set(family, known);
  }
  return known;
}

function noteFinding(
  found: Found,
  place: { family: string; rank: number },
  { mark, retryAfterMs, ...fields }: Finding,
): void {
  noteRetry(found, retryAfterMs, VENDOR_RETRY_RANK);
  const draft = draftOf(familyOf(found, place).drafts, mark);
  if (fields.limit !== undefined) keepFirst(draft, 'limits', [fields.limit]);
  if (fields.remaining !== undefined) keepFirst(draft, 'remainings', [fields.remaining]);
  if (fields.used !== undefined) keepFirst(draft, 'useds', [fields.used]);
  if (fields.usedPercent !== undefined) draft.usedPercent ??= fields.usedPercent;
  if (fields.resetMs !== undefined) noteReset(draft, RESET_RANKS.resetAfter, [fields.resetMs]);
}

function keepFirst(draft: Draft, field: 'limits' | 'remainings' | 'useds', values: Values): void {
  if (draft[field] === undefined && values.some((value) => value !== undefined)) {
    draft[field] = values;
  }
}

function noteReset(draft: Draft, rank: number, values: Values): void {
  if (rank >= draft.resetRank || values.every((value) => value === undefined)) return;
  draft.resetRank = rank;
  draft.resets = values;
}

function noteRetry(found: Found, ms: number | undefined, rank = VENDOR_RETRY_RANK): void {
  if (ms === undefined) return;
  const known = found.retry;
  if (known !== undefined && (known.rank < rank || known.rank === rank && known.ms >= ms)) return;
  found.retry = { rank, ms };
}

const SCOPE_LENGTH_MAX = 200;

function noteScope(found: Found, value: string): void {
  if (value !== '' && value.length <= SCOPE_LENGTH_MAX) found.scope ??= value;
}

function readTimes(value: string, unit: TimeUnit | undefined, { nowMs, hints }: Dating): Values {
  const meant = unit ?? (hints?.resetUnit === 'ms' ? 'ms' : 'auto');
  const whole = readReset(value, nowMs, meant);
  if (whole !== undefined || !value.includes(',')) return [whole];
  return splitList(value).map((text) => readReset(text, nowMs, meant));
}

function notePoliciesOfLimit(family: Family, value: string): void {
  if (value.includes(';')) family.policies.push(...readPolicies(value));
}

function notePolicies(found: Found, meaning: Meaning, value: string): void {
  const policies = readPolicies(value);
  if (policies.length > 0) familyOf(found, meaning).policies.push(...policies);
  // Elsewhere the header of that name tells which policy applies.
  else if (/^[\w.-]+$/.test(value)) noteScope(found, value);
}

function noteCombined(
  found: Found,
  meaning: Meaning,
  { value, dating }: { value: string; dating: Dating },
): void {
  const family = familyOf(found, meaning);
  const whole = readDecimal(value);
  const plain = draftOf(family.drafts, meaning.mark);
  if (whole !== undefined) return keepFirst(plain, 'limits', [countOf(whole)]);
  const pairs = readPairs(value);
  if (/^(?:limit|remaining|reset)\s*=/i.test(value)) {
    keepFirst(plain, 'limits', [countOf(readDecimal(pairs.get('limit') ?? ''))]);
    keepFirst(plain, 'remainings', [countOf(readDecimal(pairs.get('remaining') ?? ''))]);
    noteReset(plain, RESET_RANKS.reset, readTimes(pairs.get('reset') ?? '', 'auto', dating));
    return;
  }
  for (const { value: first, texts, parameters } of readItems(value)) {
    const remaining = parameters.get('r');
    const reset = parameters.get('t');
    if (remaining === undefined && reset === undefined) continue;
    const name = texts.at(-1) ?? first;
    const partition = parameters.get('pk');
    // A name that comes again, with anything else, is another partition of its policy.
    const key = ['policy', name, partition, remaining, reset].join(' ');
    const mark: Mark = { ...meaning.mark, key, name, namesScope: 'always' };
    const state = draftOf(family.states, mark);
    state.partition = partition;
    keepFirst(state, 'remainings', [countOf(readDecimal(remaining ?? ''))]);
    noteReset(state, RESET_RANKS.reset, readTimes(reset ?? '', 'auto', dating));
  }
}
