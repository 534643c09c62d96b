/**
 * The tables of the database, from which drizzle-kit generates the migrations beside this file. A
 * change here needs a new migration (`npx drizzle-kit generate`); a committed one is never edited.
 * What a row means is said in src/store.
 */
import { sql } from 'drizzle-orm';
import {
  check,
  index,
  integer,
  primaryKey,
  real,
  sqliteTable,
  text,
} from 'drizzle-orm/sqlite-core';

/** One row: which server owns the database, and the marks that only ever grow. */
export const claim = sqliteTable('claim', {
  id: integer().primaryKey(),
  /** Grows with every start. Every write is conditional on it; the guard of a batch sets -1. */
  epoch: integer().notNull(),
  /** The id of the first owner: by it this database is told from any other. */
  origin: text().notNull(),
  /** The owner's id while it runs; null once it gave the claim back. */
  owner: text(),
  /** Changes while the owner lives. */
  beat: integer().notNull(),
  /** The highest fence of all leases that were folded. */
  fence: integer().notNull(),
  /** The highest number of an attempt in the entries that were folded. */
  attempt: integer().notNull(),
  /** The number of the newest log entry that was folded. */
  logged: integer().notNull(),
  /** How many folds there were. */
  folds: integer().notNull(),
  /** How many claims and guarded transactions there were. */
  writes: integer().notNull(),
  /** What `writes` was when the main file last held everything: the WAL builds on it. */
  base: integer().notNull(),
}, (table) => [
  check('claim_one_row', sql`${table.id} = 1`),
  check('claim_epoch', sql`${table.epoch} >= 0`),
]);

/** Small named values of the server itself. */
export const value = sqliteTable('value', {
  name: text().primaryKey(),
  value: text().notNull(),
});

export const pool = sqliteTable('pool', {
  name: text().primaryKey(),
  settings: text().notNull(),
  createdAt: integer('created_at').notNull(),
  pause: text(),
  isManaged: integer('is_managed', { mode: 'boolean' }).notNull(),
});

export const key = sqliteTable('key', {
  pool: text().notNull(),
  id: text().notNull(),
  name: text().notNull(),
  hash: text().notNull(),
  prefix: text().notNull(),
  createdAt: integer('created_at').notNull(),
  expiresAt: integer('expires_at'),
  lastUsedAt: integer('last_used_at'),
}, (table) => [primaryKey({ columns: [table.pool, table.id] }), index('key_id').on(table.id)]);

/** What each pool's governor learned. */
export const governor = sqliteTable('governor', {
  pool: text().primaryKey(),
  saved: text().notNull(),
});

/** What the governors changed, the newest of each pool. */
export const governorChange = sqliteTable('governor_change', {
  seq: integer().primaryKey({ autoIncrement: true }),
  pool: text().notNull(),
  at: integer().notNull(),
  what: text().notNull(),
  from: real(),
  to: real(),
  why: text().notNull(),
  evidence: text().notNull(),
}, (table) => [index('governor_change_pool').on(table.pool, table.seq)]);

/** Signed-in sessions of the admin page. */
export const session = sqliteTable('session', {
  /** Of the session's id, which its browser alone has. */
  hash: text().primaryKey(),
  createdAt: integer('created_at').notNull(),
  usedAt: integer('used_at').notNull(),
});

/** What pools did, for charts: each span is a ring of so many cells, which are overwritten. */
export const history = sqliteTable('history', {
  span: text().notNull(),
  cell: integer().notNull(),
  at: integer().notNull(),
  /** The points of all pools that did something, as JSON. */
  points: text().notNull(),
}, (table) => [primaryKey({ columns: [table.span, table.cell] })]);

/** The leases that were live at the last fold; what came since is in the journal. */
export const lease = sqliteTable('lease', {
  /** Of the table alone: growing numbers are appended and found quicker than slot ids. */
  id: integer().primaryKey(),
  /** The whole row as a JSON array. */
  body: text().notNull(),
});

/** Nonces of signed requests, each kept until it cannot be replayed any more. */
export const nonce = sqliteTable('nonce', {
  pool: text().notNull(),
  nonce: text().notNull(),
  until: integer().notNull(),
}, (table) => [
  primaryKey({ columns: [table.pool, table.nonce] }),
  index('nonce_until').on(table.until),
]);

/** Batches that were committed and not yet folded, oldest first. */
export const journal = sqliteTable('journal', {
  seq: integer().primaryKey(),
  body: text().notNull(),
});

/** A run of one pool's access-log entries, numbered first to last without a gap. */
export const logSegment = sqliteTable('log_segment', {
  pool: text().notNull(),
  last: integer().notNull(),
  first: integer().notNull(),
  count: integer().notNull(),
  /** The earliest and the latest instant in it. */
  atFirst: integer('at_first').notNull(),
  atLast: integer('at_last').notNull(),
  /** The outcomes in it, each between bars: `|granted|too_many_requests|`. */
  outcomes: text().notNull(),
  /** The entries as JSON, oldest first. */
  entries: text().notNull(),
}, (table) => [
  index('log_segment_newest').on(table.pool, table.last, table.count, table.atLast),
  index('log_segment_oldest').on(table.pool, table.atLast),
]);
