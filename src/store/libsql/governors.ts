/**
 * What the governors of pools learned and changed, as rows. Of each pool the newest changes stay.
 */
import { desc, eq } from 'drizzle-orm';
import { governor, governorChange } from '../../../db/schema.ts';
import { CHANGES_KEPT } from '../../core/governor/governor.ts';
import type { ChangeRow, GovernorRow } from '../store.ts';
import type { Connection } from './connection.ts';

/** A write that comes after its pool was deleted leaves nothing for a later one of the name. */
const LEARNED_SQL = `INSERT INTO governor (pool, saved)
  SELECT name, ?2 FROM pool WHERE name = ?1
  ON CONFLICT (pool) DO UPDATE SET saved = excluded.saved`;
const CHANGE_SQL = `INSERT INTO governor_change (pool, at, what, "from", "to", why, evidence)
  SELECT name, ?2, ?3, ?4, ?5, ?6, ?7 FROM pool WHERE name = ?1`;
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
  const pools = new Set(changes.map(({ pool }) => pool));
  await connection.write([
    ...rows.map(({ pool, saved }) => ({ sql: LEARNED_SQL, args: [pool, saved] })),
    ...changes.map(({ pool, at, what, from, to, why, evidence }) => (
      { sql: CHANGE_SQL, args: [pool, at, what, from, to, why, evidence] }
    )),
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
