/**
 * Reads fields of a server's answer, which may be of another version than this program: what is
 * missing or of another type reads as nothing.
 */
import type { Row } from './admin_client.ts';
import { shownMs } from './duration.ts';

export function rowsOf(answer: Row, name: string): Row[] {
  const value = answer[name];
  return Array.isArray(value) ? value.filter((row) => typeof row === 'object' && row !== null) : [];
}

/** The field at a dotted path. */
export function fieldOf(row: Row, path: string): unknown {
  let value: unknown = row;
  for (const name of path.split('.')) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = (value as Row)[name];
  }
  return value;
}

export function numberOf(row: Row, path: string): number | null {
  const value = fieldOf(row, path);
  return typeof value === 'number' ? value : null;
}

export function textOf(row: Row, path: string): string {
  const value = fieldOf(row, path);
  if (value === undefined || value === null) return '-';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** Epoch ms as an instant, in UTC and to the second; as it came where no calendar has it. */
export function instantOf(row: Row, path: string): string {
  const atMs = numberOf(row, path);
  if (atMs === null) return '-';
  const date = new Date(atMs);
  if (Number.isNaN(date.getTime())) return String(atMs);
  return date.toISOString().replace(/\.\d+Z$/, 'Z');
}

export function spanOf(row: Row, path: string): string {
  const ms = numberOf(row, path);
  return ms === null ? '-' : shownMs(ms);
}
