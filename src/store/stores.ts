/**
 * The table of stores, by the scheme of the database's URL. A new kind of database is one line
 * here, one file that keeps the contract, and one row in its case suite.
 */
import { type LibsqlOptions, LibsqlStore } from './libsql.ts';
import { MemoryStore } from './memory.ts';
import type { Store } from './store.ts';

export type StoreOptions = LibsqlOptions;

const stores: Readonly<Record<string, (options: StoreOptions) => Store>> = {
  'file:': (options) => new LibsqlStore(options),
  'libsql:': (options) => new LibsqlStore(options),
  'https:': (options) => new LibsqlStore(options),
  'http:': (options) => new LibsqlStore(options),
  'wss:': (options) => new LibsqlStore(options),
  'ws:': (options) => new LibsqlStore(options),
  /** Forgets all when the process ends: for tests. */
  'memory:': () => new MemoryStore(),
};

/** The store for the URL, not yet opened; null where no store knows the scheme. */
export function storeFor(options: StoreOptions): Store | null {
  const [scheme = ''] = /^[a-z]+:/i.exec(options.url) ?? [];
  return stores[scheme.toLowerCase()]?.(options) ?? null;
}
