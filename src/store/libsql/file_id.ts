/** By what a file is known again, whatever its name is by then: its device and its inode. */
import { type BigIntStats, fstatSync, statSync } from 'node:fs';

const EXACT = { bigint: true } as const;

/** The file under that path; null where there is none. */
export function fileIdAt(path: string): string | null {
  try {
    return idOf(statSync(path, EXACT));
  } catch {
    return null;
  }
}

export function fileIdOf(descriptor: number): string {
  return idOf(fstatSync(descriptor, EXACT));
}

function idOf({ dev, ino }: BigIntStats): string {
  return `${dev}:${ino}`;
}
