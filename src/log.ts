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

/** The runtime's words for what it does not let the program do end in advice for its own flags. */
const NOT_PERMITTED = /^Requires (\w+) access( to .+?)?, (?:run again|specify the required).*$/s;

/** What of an error may be told: its message, without stack and without the runtime's flags. */
export function messageOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.replace(
    NOT_PERMITTED,
    (_, kind: string, to?: string) => to === undefined ? `no ${kind} access` : `no access${to}`,
  );
}
