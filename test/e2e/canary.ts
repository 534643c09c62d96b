/**
 * Secrets that are known again wherever they turn up, and the search for them. Every secret that an
 * end-to-end test makes holds one mark; what a server prints, answers under its own name, shows on
 * a page or leaves in its database is searched for the mark, for whole pool keys, for what its
 * key files hold and, but for the database, for slotIds. What was found fails the test file, when
 * all of its tests are over (see canary_setup).
 */
import type { ChildProcess } from 'node:child_process';
import { Buffer } from 'node:buffer';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';

const MARK = 'cAnArYmArK';
const MARKS = [MARK, Buffer.from(MARK).toString('hex'), ...[0, 1, 2].map(inBase64)];
const POOL_KEY = /nb_live_[0-9A-Za-z]{32}/;
/** The two lines that show the first key of all, once. */
const FIRST_START = /^(first start: made the pool|try it: ).*\n/gm;
const KEY_FILES = ['master-key', 'master-key.next', 'admin-token'];
/** The commands that run for long; others print a fresh key because they were asked to. */
const SEARCHED = new Set(['serve', 'run']);
const BYTES_MAX = 64_000_000;
const TEXT_MAX = 4_000_000;

/** What was searched, and found, since the test file began. */
export const searched = { outputs: 0, answers: 0, files: 0 };
export const findings: string[] = [];
const slotIds = new Set<string>();

/** A secret of 32 or more characters that the search knows. */
export function canary(name: string): string {
  return `${MARK}-${name}-0123456789abcdefghijklmn`;
}

/** Searches what a command prints, and the database that it leaves behind when it ends. */
export function watch(child: ChildProcess, words: readonly string[]): void {
  if (!words.some((word) => SEARCHED.has(word))) return;
  let text = '';
  const read = (chunk: unknown) => text = (text + String(chunk)).slice(-TEXT_MAX);
  child.stdout?.on('data', read);
  child.stderr?.on('data', read);
  const url = words[words.indexOf('--db') + 1] ?? '';
  child.once('exit', () => url.startsWith('file:') && searchFolder(dirname(url.slice(5))));
  child.once('close', () => {
    searched.outputs++;
    lookFor([...secretsIn(text.replace(FIRST_START, '')), ...slotIdsIn(text)], 'the output');
  });
}

/** Searches an answer that the server made itself, or a page. */
export function searchAnswer(method: string, path: string, text: string): void {
  for (const [, id = ''] of text.matchAll(/"slotId":"([\w-]{24})"/g)) slotIds.add(id);
  // A fresh key is shown once, to whoever makes it.
  const isFreshKey = method === 'POST' && /\/(keys|act\/make-key)$/.test(path);
  if (isFreshKey) return;
  searched.answers++;
  const ids = path.startsWith('/admin') || path.startsWith('/metrics') ? slotIdsIn(text) : [];
  lookFor([...secretsIn(text), ...ids], `${method} ${path}`);
}

/** Searches every file of a database's folder but those that hold a secret by design. */
export function searchFolder(folder: string): void {
  // Where a test has put a file in its place, there is nothing to search.
  if (!existsSync(`${folder}/.`)) return;
  const keys = KEY_FILES.map((name) => join(folder, name)).filter(isFile)
    .map((path) => readFileSync(path, 'utf8').trim()).filter((key) => key.length > 20);
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    const isDatabase = /\.db(-wal|-shm|\..*)?$/.test(name) && isFile(path);
    if (!isDatabase || statSync(path).size > BYTES_MAX) continue;
    searched.files++;
    const text = readFileSync(path, 'latin1');
    lookFor([...secretsIn(text), ...keys.filter((key) => text.includes(key))], name);
  }
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
}

function lookFor(found: readonly string[], where: string): void {
  if (found.length > 0) findings.push(`${where}: ${found.join(', ')}`);
}

function secretsIn(text: string): string[] {
  const key = POOL_KEY.exec(text)?.[0];
  const marks = MARKS.filter((mark) => text.includes(mark)).map((mark) => {
    const at = text.indexOf(mark);
    return text.slice(Math.max(0, at - 40), at + 80);
  });
  return key === undefined ? marks : [...marks, key];
}

function slotIdsIn(text: string): string[] {
  return [...slotIds].filter((id) => text.includes(id));
}

/** The mark as it looks in the middle of a base64 text, behind so many other bytes. */
function inBase64(before: number): string {
  const text = Buffer.from('x'.repeat(before) + MARK).toString('base64').replace(/=+$/, '');
  // The first and last characters hold bits of what stands beside the mark.
  return text.slice(before === 0 ? 0 : before + 1, -1);
}
