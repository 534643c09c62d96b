/**
 * What the page's views are given: answers of the JSON API as they come, named as far as the views
 * read them. The views show what is there and decide nothing.
 */
export interface View {
  readonly name: string;
  readonly limit: number;
  readonly effectiveLimit: number;
  readonly inUse: number;
  readonly queued: number;
  readonly oldestWaitMs: number;
  readonly rpm: number | null;
  readonly state: string;
  readonly reason: string;
  readonly pausedUntil: number | null;
  readonly openTo: string | null;
}

export type Json = Readonly<Record<string, unknown>>;

export interface Page {
  readonly title: string;
  /** What a write by this session must carry; '' where nobody is signed in. */
  readonly writeToken: string;
}

/** A value inside nested JSON, by its dotted path. */
export function at(json: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>(
    (inner, name) => (inner as Json | null | undefined)?.[name],
    json,
  );
}

export function text(value: unknown): string {
  if (value === null || value === undefined) return '–';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

export function seconds(ms: unknown): string {
  const value = Number(ms);
  if (value < 1000) return `${Math.round(value)} ms`;
  if (value < 120_000) return `${Math.round(value / 100) / 10} s`;
  return `${Math.round(value / 60_000)} min`;
}

/** A rate in starts a minute, which comes rounded. */
export function perMinute(rpm: number | null): string {
  return rpm === null ? 'none' : String(rpm);
}

/** How long the oldest waiter has waited. */
export function waited(ms: number): string {
  return ms === 0 ? '–' : seconds(ms);
}

export function utc(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}
