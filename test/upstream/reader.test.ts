/** The parser over every fixture: real headers of real vendors, and what they are to be read as. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { Hints } from '../../src/upstream/dialect.ts';
import { readRates } from '../../src/upstream/reader.ts';

interface Fixture {
  readonly id: string;
  readonly note: string;
  readonly now: number;
  readonly headers: Record<string, string | string[]>;
  readonly body?: unknown;
  readonly hint?: Hints;
  readonly expected: unknown;
  readonly alt?: readonly unknown[];
}

const FIXTURES: readonly Fixture[] = JSON.parse(
  readFileSync(new URL('./rate_headers.json', import.meta.url), 'utf8'),
);

/** An example with its deviating readings is met by one of them, exactly. */
describe('readRates reads the fixture', () => {
  it.each(FIXTURES.map((fixture) => [fixture.id, fixture] as const))('%s', (_id, fixture) => {
    const reading = readRates(fixture.headers, {
      nowMs: fixture.now,
      body: fixture.body,
      ...(fixture.hint === undefined ? {} : { hints: fixture.hint }),
    });
    const accepted = [fixture.expected, ...(fixture.alt ?? [])];
    const isMet = accepted.some((one) => {
      try {
        expect(reading).toEqual(one);
        return true;
      } catch {
        return false;
      }
    });
    if (!isMet) expect(reading, fixture.note).toEqual(fixture.expected);
  });
});
