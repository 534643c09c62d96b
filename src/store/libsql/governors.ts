/**
 * What the governors of pools learned and changed, as rows. Of each pool the newest changes stay.
 */
import { desc, eq } from 'drizzle-orm';
import { governor, governorChange } from '../../../db/schema.ts';
import { CHANGES_KEPT } from '../../core/governor/governor.ts';
import type { ChangeRow, GovernorRow } from '../store.ts';
import type { Connection } from './connection.ts';
import { statement } from './rows.ts';

const PRUNE_SQL = `DELETE FROM governor_change WHERE pool = ?1 AND seq <= (
  SELECT seq FROM governor_change WHERE pool = ?1
  ORDER BY seq DESC LIMIT 1 OFFSET ${CHANGES_KEPT})`;

export function readGovernors(connection: Connection): Promise<GovernorRow[]> {
  return connection.run(() => connection.drizzle.select().from(governor).execute());
}

export async function saveGovernors(
  connection: Connection,
  rows: readonly GovernorRow[],
  changes: readonly ChangeRow[],
): Promise<void> {
  const { drizzle } = connection;
  const learned = rows.map((row) =>
    drizzle.insert(governor).values(row)
      .onConflictDoUpdate({ target: governor.pool, set: { saved: row.saved } })
  );
  const changed = changes.map((row) => drizzle.insert(governorChange).values(row));
  const pools = new Set(changes.map(({ pool }) => pool));
  await connection.write([
    ...learned.map(statement),
    ...changed.map(statement),
    ...Array.from(pools, (pool) => ({ sql: PRUNE_SQL, args: [pool] })),
  ]);
}

export async function readChanges(
  connection: Connection,
  pool: string,
  limit: number,
): Promise<ChangeRow[]> {
  const query = connection.drizzle.select().from(governorChange)
    .where(eq(governorChange.pool, pool)).orderBy(desc(governorChange.seq)).limit(limit);
  const rows = await connection.run(() => query.execute());
  return rows.map(({ seq: _, ...row }) => row);
}
