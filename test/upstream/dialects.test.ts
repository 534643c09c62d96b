/** What every row of the table of dialects must hold: its own samples first of all. */
import { describe, expect, it } from 'vitest';
import { SAMPLE_NOW_MS } from '../../src/upstream/dialect.ts';
import { DIALECTS } from '../../src/upstream/dialects.ts';
import { indexNames } from '../../src/upstream/names.ts';
import { readRates } from '../../src/upstream/reader.ts';

describe.each(DIALECTS.map((dialect) => [dialect.name, dialect] as const))('%s', (_, dialect) => {
  it('has a sample, and reads it as the row says', () => {
    expect(dialect.samples.length).toBeGreaterThan(0);
    for (const { headers, reading, hints } of dialect.samples) {
      const options = { nowMs: SAMPLE_NOW_MS, ...(hints === undefined ? {} : { hints }) };
      expect(readRates(headers, options)).toEqual(reading);
    }
  });

  it('has a sample that uses a name of this row', () => {
    const index = indexNames([dialect]);
    const plainIndex = indexNames(DIALECTS);
    const lookUp = dialect.relayPrefix === undefined ? index.lookUp : plainIndex.lookUp;
    const used = dialect.samples.flatMap(({ headers }) => Object.keys(headers))
      .filter((name) => lookUp(name.toLowerCase()) !== undefined);
    expect(used).not.toEqual([]);
  });

  it('has names in lower case, and says where it is described', () => {
    for (const name of Object.keys(dialect.names)) expect(name).toBe(name.toLowerCase());
    expect(dialect.documentation).toMatch(/^https:\/\//);
    expect(dialect.vendors).not.toBe('');
  });
});

describe('DIALECTS', () => {
  it('has no two rows of one name', () => {
    const names = DIALECTS.map((dialect) => dialect.name);
    expect(new Set(names).size).toBe(names.length);
  });

  it('gives every spelled-out name to one row only', () => {
    const owners = new Map<string, string[]>();
    for (const { name: row, names } of DIALECTS) {
      for (const name of Object.keys(names)) owners.set(name, [...owners.get(name) ?? [], row]);
    }
    expect([...owners].filter(([, rows]) => rows.length > 1)).toEqual([]);
  });

  it('makes nothing of names that only look alike', () => {
    const { lookUp } = indexNames(DIALECTS);
    const names = [
      'content-length',
      'x-ratelimit-tokens-query-cost',
      'x-ratelimit-remaining-images',
      'x-ratelimit-limit-tokens_usage_based',
      'x-ratelimit-rapid-free-plans-hard-limit-limit',
      'auth0-client-quota-limit',
      'twilio-concurrent-requests',
      'x-ratelimit-nearlimit',
      `x-ratelimit-limit-${'a'.repeat(8_192)}`,
      'llm_provider-',
      'llm_provider-date',
    ];
    for (const name of names) expect(lookUp(name), name).toBeUndefined();
  });
});
