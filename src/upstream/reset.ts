/**
 * Reads the values of headers that tell a time: plain numbers, durations and dates, each tested as
 * a whole before it is believed. Owns the magnitudes by which a bare number is a delta or an epoch.
 * It must never hand text to `Date.parse` or `parseFloat`, which find a date in `120` and a number
 * in a date. The duration grammar is our own: parse-duration takes any text that holds a digit
 * (a date reads as 2026 ms), so that the grammar below would be needed in front of it anyway.
 */
import { CEILINGS } from '../ceilings.ts';

/** What a bare number means where its name or a hint says it; `auto` goes by magnitude. */
export type TimeUnit = 'auto' | 'ms' | 'min';

export const SECOND_MS = 1_000;
export const MINUTE_MS = 60 * SECOND_MS;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

/** No time that anybody sends is longer; the regular expressions below see nothing that is. */
const TEXT_LENGTH_MAX = 100;

/** A plain decimal number, or undefined: no exponent, no unit, no list. */
export function readDecimal(text: string): number | undefined {
  if (text.length > TEXT_LENGTH_MAX || !/^[+-]?\d+(\.\d+)?$/.test(text)) return undefined;
  // `+ 0` turns -0 into 0.
  return Number(text) + 0;
}

/** Ms to wait from `nowMs`, told as number, duration or date; undefined where it is none. */
export function readReset(value: string, nowMs: number, unit: TimeUnit): number | undefined {
  const text = value.trim();
  const number = readDecimal(text);
  if (number !== undefined) return waitOfNumber(number, nowMs, unit);
  const durationMs = readDuration(text);
  if (durationMs !== undefined) return boundedWait(durationMs);
  const atMs = readInstant(text, nowMs);
  return atMs === undefined ? undefined : boundedWait(roundUp(atMs) - nowMs);
}

/** 2001-09-09, as 1e9 is in seconds: what is called ms, and is less, is no epoch. */
const EPOCH_MS_MIN = 1e12;

function waitOfNumber(number: number, nowMs: number, unit: TimeUnit): number | undefined {
  if (unit === 'min') return boundedWait(number * MINUTE_MS);
  // As a wait an epoch in ms is beyond belief, and so is all between the two.
  if (unit === 'ms' && number < EPOCH_MS_MIN) return boundedWait(number);
  if (number < 1e9) return boundedWait(number * SECOND_MS);
  const atMs = number < 1e11
    ? number * SECOND_MS
    : number < 1e14
    ? number
    : number < 1e17
    ? number / 1e3
    : number / 1e6;
  return boundedWait(roundUp(atMs) - nowMs);
}

/** Whole ms, rounded up, the past as 0, and nothing at all where it is beyond belief. */
export function boundedWait(ms: number): number | undefined {
  if (!(ms <= CEILINGS.resetMs)) return undefined;
  return ms <= 0 ? 0 : roundUp(ms);
}

/**
 * Rounds up, but not for the last bit of a float: 1.1 s is 1100 ms, though 1.1 * 1000 is more. An
 * epoch in us keeps its last digit.
 */
function roundUp(ms: number): number {
  return Math.ceil(ms - Math.abs(ms) * Number.EPSILON);
}

/** Where a wait is told several times, the longest satisfies all. */
export function longestOf(waits: readonly (number | undefined)[]): number | undefined {
  const known = waits.filter((ms) => ms !== undefined);
  return known.length === 0 ? undefined : Math.max(...known);
}

const DURATION_UNIT_MS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  ms: 1,
  s: SECOND_MS,
  m: MINUTE_MS,
  h: HOUR_MS,
  d: DAY_MS,
  w: 7 * DAY_MS,
};
const DURATION = /^[+-]?(?:\d+(?:\.\d+)?(?:ns|us|ms|[smhdw]))+$/;

/** Ms of a duration as Go prints it (`1m0.5s`), with the days and weeks that others add. */
export function readDuration(value: string): number | undefined {
  if (value.length > TEXT_LENGTH_MAX) return undefined;
  // Micro is U+00B5 or U+03BC, and header bytes that were UTF-8 may have been read as latin-1.
  const text = value.toLowerCase().replace(
    /(?:\u00c2|\u00e2)?\u00b5|\u03bc|[\u00ce\u00ee]\u00bc/g,
    'u',
  );
  if (!DURATION.test(text)) return undefined;
  let ms = 0;
  for (const [, number, unit] of text.matchAll(/(\d+(?:\.\d+)?)([a-z]+)/g)) {
    ms += Number(number) * (DURATION_UNIT_MS[unit ?? ''] ?? NaN);
  }
  return text.startsWith('-') ? -ms : ms;
}

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];

/** `2026-01-01T00:01Z`, with or without seconds, fraction, offset; a blank may stand for the T. */
const ISO = new RegExp(
  /^(?<year>\d{4})-(?<month>\d\d)-(?<day>\d\d)/.source +
    /(?:[t ](?<hour>\d\d):(?<minute>\d\d)(?::(?<second>\d\d(?:\.\d+)?))?)?/.source +
    / ?(?<zone>z|utc|gmt|[+-]\d\d(?::?\d\d)?)?(?: utc)?$/.source,
);
/** `Thu, 01 Jan 2026 00:00:30 GMT` and `Thursday, 01-Jan-26 00:00:30 GMT`. */
const DAY_FIRST = new RegExp(
  /^(?:[a-z]{3,9}, ?)?(?<day>\d\d?)[ -](?<month>[a-z]{3})[ -](?<year>\d{4}|\d\d)/.source +
    / (?<hour>\d\d):(?<minute>\d\d):(?<second>\d\d) ?(?<zone>z|utc|gmt|[+-]\d\d:?\d\d)?$/.source,
);
/** `Thu Jan  1 00:00:30 2026` and `Thu Jan 01 2026 01:00:30 GMT+0100 (Central European Time)`. */
const MONTH_FIRST = new RegExp(
  /^[a-z]{3} (?<month>[a-z]{3})  ?(?<day>\d\d?)(?: (?<year>\d{4}))?/.source +
    / (?<hour>\d\d):(?<minute>\d\d):(?<second>\d\d)(?: (?<lateYear>\d{4}))?/.source +
    /(?: ?(?:gmt|utc|z)?(?<zone>[+-]\d\d:?\d\d)?)(?: \([^)]*\))?$/.source,
);

/** Epoch ms of a date in any of the forms above; a date without a zone is UTC. */
export function readInstant(value: string, nowMs: number): number | undefined {
  if (value.length > TEXT_LENGTH_MAX) return undefined;
  const text = value.toLowerCase();
  const parts = (ISO.exec(text) ?? DAY_FIRST.exec(text) ?? MONTH_FIRST.exec(text))?.groups;
  if (parts === undefined) return undefined;
  const year = readYear(parts['year'] ?? parts['lateYear'], nowMs);
  const named = MONTHS.indexOf(parts['month'] ?? '');
  const month = named >= 0 ? named : Number(parts['month']) - 1;
  const day = Number(parts['day']);
  const hour = Number(parts['hour'] ?? 0);
  const minute = Number(parts['minute'] ?? 0);
  const second = Number(parts['second'] ?? 0);
  const dayMs = Date.UTC(year, month, day);
  const isReal = new Date(dayMs).getUTCMonth() === month && new Date(dayMs).getUTCDate() === day;
  if (!isReal || hour > 23 || minute > 59 || second >= 61) return undefined;
  const clockMs = hour * HOUR_MS + minute * MINUTE_MS + second * SECOND_MS;
  return dayMs + clockMs - zoneMs(parts['zone']);
}

/** A year of two digits is the nearest one that is at most 50 years ahead (RFC 9110, 5.6.7). */
function readYear(text: string | undefined, nowMs: number): number {
  if (text === undefined) return NaN;
  if (text.length > 2) return Number(text);
  const year = 2000 + Number(text);
  return year > new Date(nowMs).getUTCFullYear() + 50 ? year - 100 : year;
}

function zoneMs(zone: string | undefined): number {
  const parts = /^([+-])(\d\d):?(\d\d)?$/.exec(zone ?? '');
  if (parts === null) return 0;
  const ms = Number(parts[2]) * HOUR_MS + Number(parts[3] ?? 0) * MINUTE_MS;
  return parts[1] === '-' ? -ms : ms;
}

/** Window lengths by the word that vendors put for them; a month or a year has no fixed length. */
export const WINDOW_WORD_MS: Readonly<Record<string, number | undefined>> = {
  second: SECOND_MS,
  minute: MINUTE_MS,
  hour: HOUR_MS,
  day: DAY_MS,
  week: 7 * DAY_MS,
  month: undefined,
  year: undefined,
};

/** Length of a window, told as a word, a duration, or a number of seconds (or ms by its name). */
export function readWindowMs(value: string, unit: TimeUnit): number | undefined {
  const text = value.trim().toLowerCase();
  if (Object.hasOwn(WINDOW_WORD_MS, text)) return WINDOW_WORD_MS[text];
  const number = readDecimal(text);
  const perUnitMs = unit === 'ms' ? 1 : unit === 'min' ? MINUTE_MS : SECOND_MS;
  const ms = number === undefined ? readDuration(text) : number * perUnitMs;
  return ms !== undefined && ms > 0 && ms <= CEILINGS.resetMs ? roundUp(ms) : undefined;
}
