/**
 * The contract of a dialect: one vendor's spelling of rate headers, written as a row of names. A
 * row says which header fills which field of which window; one parser (reader.ts) runs over all
 * rows. A row must never read a header itself, unless its value has a form of its own, and then by
 * a pure function of that value.
 */
import type { RateReading, RateUnit, RateWindow } from '../core/outcome.ts';
import type { TimeUnit } from './reset.ts';

/** Which field of a window, or of the answer as a whole, a header fills. */
export type Field =
  | 'limit'
  | 'remaining'
  | 'used'
  | 'usedPercent'
  /** Time until the reset; `resetAfter` beats `reset`, which beats `resetTime`. */
  | 'resetAfter'
  | 'reset'
  | 'resetTime'
  /** Length of the window. */
  | 'window'
  /** `10;w=1, 50;w=60` or `"name";q=100;w=60`; any other word is a scope. */
  | 'policy'
  /** Everything in one header (`"name";r=50;t=30`, `limit=100, remaining=50`), or a bare limit. */
  | 'combined'
  | 'scope'
  /** A flag that says what the answer is about by being `true`. */
  | 'flag'
  | 'retryAfter'
  | 'age'
  | 'date';

/** Which of a family's windows a header belongs to; headers with the same `key` make one window. */
export interface Mark {
  readonly key: string;
  readonly name?: string;
  readonly unit?: RateUnit;
  readonly windowMs?: number;
  /** A bucket that fills bit by bit: its reset is when it is full again. */
  readonly refills?: true;
  /** Told in `windows` only: a narrower gate that says nothing of other requests. */
  readonly isAside?: boolean;
  /** Binds only where the family has no wider window of its unit, and only by what is left. */
  readonly isStandby?: boolean;
  /** The window's name is the reading's scope: always, or where there are several windows. */
  readonly namesScope?: 'always' | 'several';
}

/** What a value with a form of its own says of one window; durations are whole ms. */
export interface Finding extends Omit<RateWindow, 'name' | 'unit' | 'windowMs'> {
  readonly mark: Mark;
  readonly retryAfterMs?: number;
}

/** What one header name means. */
export interface Cell {
  /** Left out where the name's template has `{field}`, or where `read` does the reading. */
  readonly field?: Field;
  /** Left out for the family's plain window. */
  readonly mark?: Mark;
  /** What a bare number means here, where the name says it or a hint must not change it. */
  readonly unit?: TimeUnit;
  /** Rank of a `retryAfter`; the lowest that is present and well-formed wins. */
  readonly rank?: number;
  /** Reads a value that has a form of its own; `name` is what `{name}` stood for. */
  readonly read?: (value: string, name: string) => readonly Finding[];
  /** Whether what `{name}` stands for is a name of this kind. */
  readonly accepts?: (name: string) => boolean;
  /** `{name}` is a vendor's prefix: each has a family of its own. */
  readonly isFamilyName?: boolean;
}

/** A header example with the reading that it must give: a row's own test and documentation. */
export interface Sample {
  readonly headers: Readonly<Record<string, string>>;
  readonly reading: RateReading;
  readonly hints?: Hints;
}

/** The instant at which all samples are read: 2026-01-01T00:00:00Z. */
export const SAMPLE_NOW_MS = 1_767_225_600_000;

/** What headers cannot say, as the operator knows it of one upstream. */
export interface Hints {
  /** What a bare number in a reset header is. */
  readonly resetUnit?: 's' | 'ms' | undefined;
}

export interface Dialect {
  readonly name: string;
  /** Who speaks it. */
  readonly vendors: string;
  /** Where the vendor, or who knows best, describes it. */
  readonly documentation: string;
  /** Headers of one family describe one set of windows; fields of two are never mixed. */
  readonly family: string;
  /** What a bare number of this row's reset headers means; `none`: the dialect has no reset. */
  readonly reset: TimeUnit | 'none';
  /**
   * Lower-case header names. `{field}` stands for limit, remaining, used, reset and the like,
   * `{window}` for a length in a word, `{unit}` for requests or tokens, `{name}` for any text.
   */
  readonly names: Readonly<Record<string, Cell>>;
  /** A prefix behind which the names of all other rows are repeated. */
  readonly relayPrefix?: string;
  readonly samples: readonly [Sample, ...Sample[]];
}
