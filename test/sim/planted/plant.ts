/**
 * Makes a copy of the tree with one fault planted in it, runs the simulator there, and tells what
 * it found. The tree itself is never touched.
 */
import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Edit, Fault } from './faults.ts';
import { SEEDS } from './faults.ts';

const TREE = fileURLToPath(new URL('../../..', import.meta.url));
const COPIED = ['src', 'test/sim', 'test/support', 'deno.json', 'package.json'];
export const TURNS = 600;

export interface Finding {
  readonly isFound: boolean;
  /** What the simulator said last. */
  readonly said: string;
}

/** The source with the edit made; throws where it cannot be made exactly once. */
export function edited(source: string, { file, find, replace }: Edit): string {
  const times = source.split(find).length - 1;
  if (times !== 1) throw new Error(`${file} has ${times} times, wanted once: ${find}`);
  return source.replace(find, () => replace);
}

/** Runs seeds, up to the first that finds something, on a copy with the fault, or without any. */
export async function search(fault: Fault | null): Promise<Finding> {
  const copy = mkdtempSync(join(tmpdir(), 'nthbouncer-planted-'));
  try {
    for (const name of COPIED) cpSync(join(TREE, name), join(copy, name), { recursive: true });
    symlinkSync(join(TREE, 'node_modules'), join(copy, 'node_modules'));
    for (const edit of fault?.edits ?? []) {
      const path = join(copy, edit.file);
      writeFileSync(path, edited(readFileSync(path, 'utf8'), edit));
    }
    return await simulateIn(copy);
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

function simulateIn(copy: string): Promise<Finding> {
  const script = ['run', '-A', 'test/sim/main.ts'];
  const options = ['--seed', '1', '--seeds', `${SEEDS}`, '--turns', `${TURNS}`, '--quiet'];
  const deno = spawn(join(copy, 'node_modules/.bin/deno'), [...script, ...options], { cwd: copy });
  let said = '';
  for (const stream of [deno.stdout, deno.stderr]) {
    stream.on('data', (bytes: Uint8Array) => said += new TextDecoder().decode(bytes));
  }
  return new Promise((found, failed) => {
    deno.on('error', failed);
    deno.on('close', (code) => {
      const isBroken = said.includes('BROKEN');
      if (code === 0 ? isBroken : !isBroken) {
        failed(new Error(`the simulator did not run: ${said}`));
      }
      found({ isFound: isBroken, said: said.trim() });
    });
  });
}
