/**
 * The command `rate-headers`: JSON lines with an answer's headers in, JSON lines in the normal form
 * out, so that operators can see what is made of an upstream's headers. The n-th line out belongs
 * to the n-th line in; a bad line is told on its own line and never ends the run.
 */
import type { RateReading } from '../core/outcome.ts';
import type { Hints } from '../upstream/dialect.ts';
import { type HeaderSource, readRates } from '../upstream/reader.ts';
import { isObject } from '../json.ts';

/**
 * Reads lines of `{"now": epochMs, "headers": {...}, "status"?, "body"?, "hint"?}`. The status is
 * taken, so that a recorded answer can be given as it is, but headers mean the same under any.
 */
export async function* readRateHeaders(lines: AsyncIterable<string>): AsyncGenerator<string> {
  for await (const line of lines) yield JSON.stringify(readLine(line));
}

function readLine(line: string): RateReading | { readonly error: string } {
  let answer: unknown;
  try {
    answer = JSON.parse(line);
  } catch {
    return { error: 'the line is not JSON' };
  }
  if (!isObject(answer)) return { error: 'the line is not a JSON object' };
  const { now, headers, body, hint } = answer;
  if (typeof now !== 'number' || !(now >= 0) || now > INSTANT_MS_MAX) {
    return { error: '"now" is not an instant in epoch ms' };
  }
  if (!isObject(headers)) return { error: '"headers" is not an object' };
  if (hint !== undefined && hint !== null && !isObject(hint)) {
    return { error: '"hint" is not an object' };
  }
  const hints = readHints(hint);
  const source = headers as HeaderSource;
  const reading = readRates(source, { nowMs: now, body, ...(hints && { hints }) });
  // It is of the vendor, not of this answer.
  const { refills: _ofRequests, tokenRefills: _ofTokens, ...told } = reading;
  return told;
}

/** The last instant that a date can name. */
const INSTANT_MS_MAX = 8.64e15;

function readHints(hint: unknown): Hints | undefined {
  const resetUnit = isObject(hint) ? hint['resetUnit'] : undefined;
  return resetUnit === 's' || resetUnit === 'ms' ? { resetUnit } : undefined;
}
