/** The one way in which pages, answers and events show a row of the access log. */
import type { LogEntry } from '../store/entry.ts';

/** An entry as administrators see it. */
export function shownEntry({ proxied, ...entry }: LogEntry): Readonly<Record<string, unknown>> {
  return { ...entry, ...proxied };
}
