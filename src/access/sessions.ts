/**
 * Signed-in sessions of the admin page. A session is a random id that its browser alone has; here
 * and in the store is its hash, made with the admin token's, so that a new token ends all
 * sessions. It ends after 12 h without use, and there are only so many.
 */
import { Buffer } from 'node:buffer';
import type { SessionRow, Store } from '../store/store.ts';
import { Unsaved } from '../store/unsaved.ts';
import { hashOf } from './keys.ts';

const IDLE_MS_MAX = 12 * 3_600_000;
const SESSIONS_MAX = 64;
const BYTES = 32;

/** What the stored sessions were made with. */
const VALUE = 'sessions_of';

type SessionStore = Pick<
  Store,
  'readSessions' | 'addSession' | 'touchSessions' | 'removeSessions' | 'readValue' | 'saveValue'
>;

export class Sessions {
  readonly #store: SessionStore;
  readonly #adminHash: string;
  readonly #byHash = new Map<string, SessionRow>();
  /** Those that were used, and when; and those that ended. */
  readonly #used = new Unsaved<number>();
  readonly #ended = new Unsaved<true>();

  constructor(store: SessionStore, adminHash: string) {
    this.#store = store;
    this.#adminHash = adminHash;
  }

  /**
   * Takes over the sessions of the process before. Those of another token end for good, though it
   * may come back.
   */
  async load(): Promise<void> {
    const rows = await this.#store.readSessions();
    const mark = hashOf(`sessions ${this.#adminHash}`);
    const known = await this.#store.readValue(VALUE);
    if (known === null || known === mark) {
      for (const row of rows) this.#byHash.set(row.hash, row);
    } else await this.#store.removeSessions(rows.map(({ hash }) => hash));
    if (known !== mark) await this.#store.saveValue(VALUE, mark);
  }

  /** Begins a session and returns its id; the longest unused one goes where there are too many. */
  async open(epochMs: number): Promise<string> {
    await this.#prune(epochMs);
    const id = Buffer.from(crypto.getRandomValues(new Uint8Array(BYTES))).toString('base64url');
    const row = { hash: this.#hashOf(id), createdAt: epochMs, usedAt: epochMs };
    await this.#store.addSession(row);
    this.#byHash.set(row.hash, row);
    return id;
  }

  /** Whether the id is of a live session; this counts as use. */
  touch(id: string, epochMs: number): boolean {
    const hash = this.#hashOf(id);
    const row = this.#byHash.get(hash);
    if (row === undefined || epochMs - row.usedAt >= IDLE_MS_MAX) return false;
    this.#byHash.set(hash, { ...row, usedAt: epochMs });
    this.#used.set(hash, epochMs);
    return true;
  }

  /** Whether the id is of a live session, without using it. */
  isOpen(id: string, epochMs: number): boolean {
    const row = this.#byHash.get(this.#hashOf(id));
    return row !== undefined && epochMs - row.usedAt < IDLE_MS_MAX;
  }

  /** Ends the session at once; where the store fails that is written down later. */
  async close(id: string): Promise<void> {
    this.#end(this.#hashOf(id));
    await this.#saveEnded();
  }

  /** What a write by this session must carry in a header: known to its pages alone. */
  writeToken(id: string): string {
    return hashOf(`write ${id}`);
  }

  /** Writes down when sessions were last used, and drops those that ended. */
  async save(epochMs: number): Promise<void> {
    await this.#used.save((usedAt) => this.#store.touchSessions(usedAt));
    await this.#prune(epochMs, 0);
  }

  async #prune(epochMs: number, room = 1): Promise<void> {
    const rows = [...this.#byHash.values()].sort((a, b) => b.usedAt - a.usedAt);
    const gone = rows.filter((row, at) =>
      epochMs - row.usedAt >= IDLE_MS_MAX || at >= SESSIONS_MAX - room
    );
    for (const { hash } of gone) this.#end(hash);
    await this.#saveEnded();
  }

  #end(hash: string): void {
    this.#byHash.delete(hash);
    this.#used.delete(hash);
    this.#ended.set(hash, true);
  }

  #saveEnded(): Promise<void> {
    return this.#ended.save((ended) => this.#store.removeSessions([...ended.keys()]));
  }

  #hashOf(id: string): string {
    return hashOf(`${this.#adminHash} ${id}`);
  }
}
