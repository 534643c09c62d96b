/**
 * How a server stops: who waits is refused, what is under way may end, and what was answered is
 * made durable, all within the drain time. A store that fails is tried again for as long, since a
 * release that is not written costs its slot a term after the next start.
 */
import type { Server } from '../http/server.ts';
import { log, messageOf } from '../log.ts';
import type { Housekeeping } from '../scheduler/housekeeping.ts';
import { EXIT } from './command.ts';
import type { Listener } from './listener.ts';

/** Of the drain time, what is kept for the last writes. */
const WRITES_MS_MAX = 500;
/** And of these, for closing the database. */
const CLOSING_MS_MAX = 100;
/** What ends sooner is not worth a line. */
const TOLD_AFTER_MS = 100;
const WRITE_AGAIN_MS = 50;

export interface Stopping {
  readonly server: Server;
  readonly housekeeping: Housekeeping;
  readonly listeners: readonly Listener[];
  readonly drainMs: number;
}

/** A second signal ends every wait. */
export async function stop(parts: Stopping): Promise<void> {
  const { server, housekeeping, listeners, drainMs } = parts;
  const { scheduler, store } = server;
  const waitMs = drainMs - Math.min(WRITES_MS_MAX, drainMs / 4);
  const isHurried = stopSignal();
  const isLate = delay(waitMs);
  const isOver = delay(drainMs - Math.min(CLOSING_MS_MAX, drainMs / 4));
  scheduler.drain();
  housekeeping.stop();
  await server.desk.stop();
  const finished = Promise.all(listeners.map((listener) => listener.finish()));
  const telling = setTimeout(() => tellOfWait(listeners, waitMs), TOLD_AFTER_MS);
  await Promise.race([finished, isLate, isHurried]);
  clearTimeout(telling);
  for (const listener of listeners) listener.close();
  server.deadlines.close();
  scheduler.log.summarise();
  const isWritten = await writeLast(server, Promise.race([isOver, isHurried]));
  if (!isWritten) {
    log.error('stopped, but the database did not take the last writes: released slots may lapse');
  }
  scheduler.close();
  await store.close().catch((error) => {
    if (isWritten) log.error('closing: {reason}', { reason: messageOf(error) });
  });
  Deno.exit(EXIT.ok);
}

/** Whether all is durable; it is tried until then, or until no time is left. */
async function writeLast(server: Server, over: Promise<void>): Promise<boolean> {
  let isOver = false;
  void over.then(() => isOver = true);
  while (!await isWritten(server).catch(() => false)) {
    if (isOver) return false;
    await delay(WRITE_AGAIN_MS);
  }
  return true;
}

async function isWritten({ scheduler, directory, governors }: Server): Promise<boolean> {
  if (!await scheduler.journal.isKept()) return false;
  await directory.saveUses();
  await governors.save();
  return true;
}

/** So that nobody takes a stop that waits for one that hangs. */
function tellOfWait(listeners: readonly Listener[], waitMs: number): void {
  const count = listeners.reduce((sum, { underWay }) => sum + underWay, 0);
  if (count === 0) return;
  const what = count === 1 ? '1 request' : `${count} requests`;
  log.info(`stopping: ${what} under way may take {ms} ms at most; a second signal ends the wait`, {
    ms: waitMs,
  });
}

export function stopSignal(): Promise<void> {
  return new Promise((stopped) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      Deno.addSignalListener(signal, () => stopped());
    }
  });
}

function delay(ms: number): Promise<void> {
  return new Promise((done) => setTimeout(done, ms));
}
