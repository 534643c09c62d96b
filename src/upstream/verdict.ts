/**
 * Judges how an upstream answered, from status, headers and, where there is one, JSON body: was it
 * a refusal, a failure, or an answer. It must never call a 5xx a refusal, nor trust Retry-After
 * alone, which some upstreams send with every answer.
 */
import type { Outcome, OutcomeKind, RateReading } from '../core/outcome.ts';
import { errorCodes, pointsWaitMs } from './body.ts';
import type { Hints } from './dialect.ts';
import { type HeaderSource, readRates } from './reader.ts';
import { longestOf } from './reset.ts';

export interface Answer {
  /** Final HTTP status; absent where none came, or none was told. */
  readonly status?: number;
  readonly headers: HeaderSource;
  /** The JSON body, parsed, where there was a short one. */
  readonly body?: unknown;
  /** When the answer came, epoch ms. */
  readonly nowMs: number;
  readonly hints?: Hints;
}

/** The outcome that an answer tells; the reading is left out where there is nothing to read. */
export function judge({ status, headers, body, nowMs, hints }: Answer): Outcome {
  const reading = readRates(headers, { nowMs, body, ...(hints === undefined ? {} : { hints }) });
  const kind = kindOf(status, reading, body);
  const retryAfterMs = kind === 'throttled' || kind === 'failed'
    ? reading.retryAfterMs ?? (kind === 'throttled' ? spentUnitWaitMs(reading, body) : undefined)
    : undefined;
  return {
    kind,
    ...(status === undefined ? {} : { status }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    ...(Object.keys(reading).length === 0 ? {} : { reading }),
  };
}

function kindOf(status: number | undefined, reading: RateReading, body: unknown): OutcomeKind {
  if (status === undefined || status < 200 || status > 599) return 'unknown';
  if (status >= 500) return 'failed';
  const isRefusal = REFUSALS.some((row) =>
    row.statuses.includes(status) && row.says(reading, body)
  );
  return isRefusal ? 'throttled' : 'ok';
}

/** One way to say "too many"; `says` is asked only where the status fits. */
interface Refusal {
  readonly vendors: string;
  readonly statuses: readonly number[];
  says(reading: RateReading, body: unknown): boolean;
}

const REFUSALS: readonly Refusal[] = [
  { vendors: 'all', statuses: [429], says: () => true },
  {
    vendors: 'Binance: a ban after too many 429s',
    statuses: [418],
    says: ({ retryAfterMs, used }) => retryAfterMs !== undefined || used !== undefined,
  },
  {
    vendors: 'GitHub; Google by reason. Some send Retry-After: 0 with every answer',
    statuses: [403],
    says: (reading, body) =>
      reading.remaining === 0 || (reading.retryAfterMs ?? 0) > 0 || hasCode(body, RATE_LIMIT_WORDS),
  },
  {
    vendors: 'Linear, whose complexity may be spent while requests are left',
    statuses: [400],
    says: ({ windows = [] }, body) => {
      if (body !== undefined) return hasCode(body, /^RATELIMITED$/);
      const hasComplexity = windows.some((window) => window.unit === 'complexity');
      return hasComplexity && windows.some((window) => window.remaining === 0);
    },
  },
  {
    vendors: 'Meta: its codes for limits of app, user, page and business',
    statuses: [400, 403],
    says: (_reading, body) => hasCode(body, /^(?:4|17|32|613|800(?:0\d|1[0-4]))$/),
  },
  {
    vendors: 'GraphQL of Shopify (THROTTLED), Linear (RATELIMITED), GitHub (RATE_LIMITED)',
    statuses: [200],
    says: (_reading, body) => hasCode(body, /^(?:THROTTLED|RATE_?LIMITED)$/),
  },
  {
    vendors: 'Kraken',
    statuses: [200],
    says: (_reading, body) =>
      hasCode(body, /^E[A-Z]+: ?(?:RATE LIMIT EXCEEDED|THROTTLED|TEMPORARY LOCKOUT)/),
  },
];

/**
 * What stands in the text of every body of a 200 that refuses, or that tells of a bucket of points:
 * a body without it need not be parsed.
 */
export const TOLD_WITH_200 = /throttl|rate[ _]?limit|temporary lockout/i;

const RATE_LIMIT_WORDS = /RATE ?LIMIT|QUOTAEXCEEDED|DAILYLIMITEXCEEDED/;

function hasCode(body: unknown, pattern: RegExp): boolean {
  return body !== undefined && errorCodes(body).some((code) => pattern.test(code));
}

/** No Retry-After, but a unit that has no gate of its own is spent: until its reset, all wait. */
function spentUnitWaitMs(reading: RateReading, body: unknown): number | undefined {
  const windows = (reading.windows ?? []).filter(({ unit }) =>
    unit !== undefined && unit !== 'requests' && unit !== 'tokens'
  );
  return pointsWaitMs(body) ?? spentMs({ windows });
}

/** Ms until every window that is told to be spent has been reset; undefined where none is. */
export function spentMs(reading: RateReading): number | undefined {
  const { remaining, resetMs, tokenRemaining, tokenResetMs, windows = [] } = reading;
  const tokens = { remaining: tokenRemaining, resetMs: tokenResetMs };
  const spent = [{ remaining, resetMs }, tokens, ...windows]
    .filter((window) => window.remaining === 0);
  return longestOf(spent.map((window) => window.resetMs));
}
