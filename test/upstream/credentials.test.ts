import { describe, expect, it } from 'vitest';
import { type Credential, Credentials } from '../../src/upstream/credentials.ts';

const SPECS = ['a', 'b'].map((name) => ({
  name,
  header: 'authorization',
  value: `secret-${name}`,
}));

function nameAt(credentials: Credentials, nowMs: number): string | null {
  const choice = credentials.choose(nowMs);
  return choice.kind === 'chosen' ? choice.credential?.name ?? null : `until ${choice.untilMs}`;
}

/** The credential of a request that is sent now. */
function sent(credentials: Credentials): Credential {
  const choice = credentials.choose(0);
  if (choice.kind !== 'chosen' || choice.credential === null) throw new Error('none');
  return choice.credential;
}

function refuse(credentials: Credentials, status: number, retryAfterMs?: number): void {
  const hint = retryAfterMs === undefined ? {} : { retryAfterMs };
  credentials.observe(sent(credentials), { kind: 'throttled', status, ...hint }, 0);
}

describe('Credentials', () => {
  it('takes turns: the one that was used least recently', () => {
    const credentials = new Credentials(SPECS);
    expect([0, 0, 0].map((nowMs) => nameAt(credentials, nowMs))).toEqual(['a', 'b', 'a']);
    expect(nameAt(new Credentials([]), 0)).toBe(null);
  });

  it('puts one aside for 60 s after 401 and 403, and after 429 until its hint', () => {
    const credentials = new Credentials(SPECS);
    refuse(credentials, 403);
    refuse(credentials, 429, 5000);
    expect(nameAt(credentials, 4999)).toBe('until 5000');
    expect(nameAt(credentials, 5000)).toBe('b');
    expect(nameAt(credentials, 59_999)).toBe('b');
    expect(nameAt(credentials, 60_000)).toBe('a');
  });

  it('puts none aside after other failures', () => {
    const [spec] = SPECS;
    const credentials = new Credentials(spec === undefined ? [] : [spec]);
    refuse(credentials, 500);
    expect(nameAt(credentials, 0)).toBe('a');
  });

  it('hears of what was sent before a change', () => {
    const before = new Credentials(SPECS);
    const credential = sent(before);
    const after = new Credentials(SPECS, before);
    before.observe(credential, { kind: 'ok', status: 401 }, 0);
    expect([1, 2].map((nowMs) => nameAt(after, nowMs))).toEqual(['b', 'b']);
  });

  it('puts one aside for a second at least, and as long as a 403 of a rate says', () => {
    const credentials = new Credentials(SPECS);
    refuse(credentials, 429, 0);
    refuse(credentials, 403, 3_600_000);
    expect(nameAt(credentials, 999)).toBe('until 1000');
    expect(nameAt(credentials, 1000)).toBe('a');
    expect(credentials.shown({ nowMs: 0, shiftMs: 0 })[1]?.coolingUntil).toBe(3_600_000);
  });

  it('tells the statuses that put all aside, each once', () => {
    const credentials = new Credentials([...SPECS, { ...SPECS[0]!, name: 'c' }]);
    refuse(credentials, 429, 5000);
    refuse(credentials, 401);
    expect(credentials.look(0).kind).toBe('chosen');
    refuse(credentials, 401);
    expect(credentials.look(0)).toEqual({
      kind: 'cooling',
      untilMs: 5000,
      statuses: [401, 429],
    });
  });

  it('tells the status that puts one aside for longest, whichever comes last', () => {
    const credentials = new Credentials([SPECS[0]!]);
    const credential = sent(credentials);
    for (const status of [401, 429]) {
      credentials.observe(credential, { kind: 'throttled', status }, 0);
    }
    expect(credentials.look(0)).toEqual({ kind: 'cooling', untilMs: 60_000, statuses: [401] });
  });

  it('keeps what it knows of those that stay, and nothing of a new value', () => {
    const before = new Credentials(SPECS);
    refuse(before, 401);
    expect(nameAt(new Credentials(SPECS, before), 1)).toBe('b');
    const fresh = SPECS.map((spec) => ({ ...spec, value: 'new' }));
    expect(nameAt(new Credentials(fresh, before), 1)).toBe('a');
  });

  it.each([401, 403, 429])('keeps the hints of a %d from the pool where several are', (status) => {
    const outcome = {
      kind: status === 401 ? 'ok' : 'throttled',
      status,
      retryAfterMs: 7000,
      reading: { retryAfterMs: 7000 },
    } as const;
    const learned = [SPECS, SPECS.slice(0, 1)].map((specs) => {
      const credentials = new Credentials(specs);
      return credentials.observe(sent(credentials), outcome, 0);
    });
    expect(learned).toEqual([{ kind: status === 401 ? 'ok' : 'unknown', status }, outcome]);
  });

  it('is shown without values', () => {
    const credentials = new Credentials(SPECS);
    refuse(credentials, 401);
    const shown = credentials.shown({ nowMs: 0, shiftMs: 7 });
    expect(shown[0]).toMatchObject({ name: 'a', coolingUntil: 60_007, coolingFor: 401 });
    expect(JSON.stringify(shown)).not.toContain('secret-');
  });
});
