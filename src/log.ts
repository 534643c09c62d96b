/**
 * The server's own log, one line an event on standard error. No secret, no slotId and no stack ever
 * goes into it; what a caller typed goes in only as a quoted value.
 */
import { configureSync, getLogger, getTextFormatter } from '@logtape/logtape';

export const log = getLogger(['nthbouncer']);

/** Sends the log to `write`, one line a call. Without this nothing is logged. */
export function startLog(write: (line: string) => void): void {
  const format = getTextFormatter({
    timestamp: 'rfc3339',
    format: ({ timestamp, level, message }) => `${timestamp} ${level} ${message}`,
  });
  configureSync({
    sinks: { lines: (record) => write(format(record)) },
    loggers: [
      { category: ['nthbouncer'], lowestLevel: 'info', sinks: ['lines'] },
      { category: ['logtape', 'meta'], lowestLevel: 'error', sinks: ['lines'] },
    ],
  });
}

/** What of an error may be told: its message, without stack. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
