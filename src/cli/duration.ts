/**
 * Durations as people type and read them: `500ms`, `30s`, `5m`, `2h`, `7d`.
 */
import { InvalidArgumentError } from 'commander';

const UNIT_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** Reads a duration for an option of commander. */
export function durationMs(text: string): number {
  const [, digits, unit] = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h|d)$/.exec(text) ?? [];
  if (digits === undefined || unit === undefined) {
    throw new InvalidArgumentError('It must be a duration such as 500ms, 30s, 5m, 2h or 7d.');
  }
  return Math.round(Number(digits) * (UNIT_MS[unit] ?? 1));
}

/** A duration in the two largest units that say something. */
export function shownMs(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  const seconds = Math.floor(ms / 1_000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return joined([minutes, 'm'], [seconds % 60, 's']);
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return joined([hours, 'h'], [minutes % 60, 'm']);
  return joined([Math.floor(hours / 24), 'd'], [hours % 24, 'h']);
}

function joined(...parts: readonly (readonly [number, string])[]): string {
  return parts.filter(([count], at) => at === 0 || count > 0)
    .map(([count, unit]) => `${count} ${unit}`).join(' ');
}
