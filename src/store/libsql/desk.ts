/**
 * The rows behind the admin page: signed-in sessions, and the history of its charts, whose rings
 * are overwritten in place and so never grow.
 */
import { eq, inArray, sql } from 'drizzle-orm';
import { history, session } from '../../../db/schema.ts';
import type { HistoryRow, SessionRow } from '../store.ts';
import type { Connection } from './connection.ts';
import { statement } from './rows.ts';

export async function addSession(connection: Connection, row: SessionRow): Promise<void> {
  const query = connection.drizzle.insert(session).values(row).onConflictDoNothing();
  await connection.write([statement(query)]);
}

/** A session that was removed meanwhile stays so, in whichever order the writes come. */
export async function touchSessions(
  connection: Connection,
  times: ReadonlyMap<string, number>,
): Promise<void> {
  const { drizzle } = connection;
  await connection.write(
    Array.from(
      times,
      ([hash, usedAt]) =>
        statement(drizzle.update(session).set({ usedAt }).where(eq(session.hash, hash))),
    ),
  );
}

export async function removeSessions(
  connection: Connection,
  hashes: readonly string[],
): Promise<void> {
  if (hashes.length === 0) return;
  const query = connection.drizzle.delete(session).where(inArray(session.hash, [...hashes]));
  await connection.write([statement(query)]);
}

export function readSessions(connection: Connection): Promise<SessionRow[]> {
  return connection.run(() => connection.drizzle.select().from(session).execute());
}

export async function saveHistory(
  connection: Connection,
  rows: readonly HistoryRow[],
): Promise<void> {
  if (rows.length === 0) return;
  const query = connection.drizzle.insert(history).values([...rows]).onConflictDoUpdate({
    target: [history.span, history.cell],
    set: { at: sql`excluded.at`, points: sql`excluded.points` },
  });
  await connection.write([statement(query)]);
}

export function readHistory(connection: Connection): Promise<HistoryRow[]> {
  return connection.run(() => connection.drizzle.select().from(history).execute());
}
