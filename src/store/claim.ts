/**
 * The claim: which server owns a database. It owns the row of that name and the rules of taking
 * and giving it; nothing else decides about ownership. A later claim for each pool would change
 * this file and the guard of writes alone.
 *
 * A claim is an epoch. Taking it raises the epoch, and every write of an earlier owner then fails.
 * That alone keeps two owners from both writing; the lock (for a file) or the beat (for a remote
 * database) only spares a living owner from being robbed by a second start.
 */
import type { Connection } from './libsql/connection.ts';
import { StoreError } from './store.ts';

/** A living owner's beat must change within this time; it is made thrice in it. */
export const BEAT_MS_MAX = 6_000;
export const BEAT_MS = 2_000;
const LOOKS = 12;

export interface Claim {
  readonly epoch: number;
  readonly fence: number;
  readonly attempt: number;
  readonly logged: number;
  readonly folds: number;
}

export interface ClaimOptions {
  /** A fresh id of this process. */
  readonly owner: string;
  /** Whether a lock outside the database already proved that no other owner lives. */
  readonly isLocked: boolean;
  readonly sleep: (ms: number) => Promise<void>;
  /** What {@link silentEpoch} told. */
  readonly silentEpoch: number | null;
}

/**
 * Watches the owner's beat, if the database has an owner, and returns the epoch of one that is
 * silent. Asked before anything is written, a new schema above all: a living owner would break.
 * @throws StoreError `owned` where the owner lives.
 */
export async function silentEpoch(
  connection: Connection,
  sleep: ClaimOptions['sleep'],
): Promise<number | null> {
  const { rows } = await connection.execute(
    `SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'claim'`,
    [],
  );
  const found = rows.length === 0 ? null : await findClaim(connection);
  if (found === null || found.owner === null) return null;
  return await watchBeat(connection, found, sleep);
}

/** @throws StoreError `owned` where another owner lives. */
export async function takeClaim(connection: Connection, options: ClaimOptions): Promise<Claim> {
  const { owner, isLocked, sleep, silentEpoch } = options;
  await connection.execute(
    `INSERT OR IGNORE INTO claim
       (id, epoch, origin, beat, fence, attempt, logged, folds, writes, base)
     VALUES (1, 0, ?1, 0, 0, 0, 0, 0, 0, 0)`,
    [owner],
  );
  const found = await readClaim(connection);
  if (!isLocked && found.owner !== null && found.epoch !== silentEpoch) {
    await watchBeat(connection, found, sleep);
  }
  // Conditional on the epoch, so that of two starters that both waited only one takes it.
  const taken = await connection.execute(
    `UPDATE claim SET epoch = epoch + 1, owner = ?1, beat = beat + 1, writes = writes + 1
     WHERE epoch = ?2`,
    [owner, found.epoch],
  );
  if (taken.rowsAffected !== 1) throw ownedError();
  const { fence, attempt, logged, folds, epoch } = await readClaim(connection);
  if (epoch !== found.epoch + 1) throw ownedError();
  return { fence, attempt, logged, folds, epoch };
}

async function watchBeat(
  connection: Connection,
  found: ClaimRow,
  sleep: ClaimOptions['sleep'],
): Promise<number> {
  for (let look = 0; look < LOOKS; look += 1) {
    await sleep(BEAT_MS_MAX / LOOKS);
    const now = await readClaim(connection);
    if (now.owner === null) break;
    if (now.beat !== found.beat || now.epoch !== found.epoch) throw ownedError();
  }
  return found.epoch;
}

/** Shows that the owner lives, by a small durable write. */
export async function beatClaim(connection: Connection): Promise<void> {
  const { rowsAffected } = await connection.execute(
    'UPDATE claim SET beat = beat + 1 WHERE epoch = ?1',
    [connection.epoch],
  );
  if (rowsAffected !== 1) throw connection.lost();
}

/** Gives the claim back, so that the next starter need not wait. */
export async function releaseClaim(connection: Connection): Promise<void> {
  await connection.execute('UPDATE claim SET owner = NULL WHERE epoch = ?1', [connection.epoch]);
}

/** The marks as they are now, if the claim is still ours. */
export async function readMarks(connection: Connection): Promise<Claim> {
  const claim = await readClaim(connection);
  if (claim.epoch !== connection.epoch) throw connection.lost();
  return claim;
}

async function readClaim(connection: Connection): Promise<ClaimRow> {
  const found = await findClaim(connection);
  if (found === null) throw new StoreError('failed', 'The database has lost its claim row.');
  return found;
}

async function findClaim(connection: Connection): Promise<ClaimRow | null> {
  const { rows } = await connection.execute('SELECT * FROM claim', []);
  const row = rows[0];
  if (row === undefined) return null;
  return {
    epoch: Number(row.epoch),
    owner: row.owner === null ? null : String(row.owner),
    beat: Number(row.beat),
    fence: Number(row.fence),
    attempt: Number(row.attempt),
    logged: Number(row.logged),
    folds: Number(row.folds),
  };
}

interface ClaimRow extends Claim {
  readonly owner: string | null;
  readonly beat: number;
}

function ownedError(): StoreError {
  return new StoreError('owned', 'another server owns the database and is running');
}
