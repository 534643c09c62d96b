/** What each benchmark begins with: its options, and a folder that goes when it is over. */
import { parseArgs } from 'node:util';

/** The options of the command line, each a text with a default. */
export function optionsOf<K extends string>(
  defaults: Readonly<Record<K, string>>,
): Record<K, string> {
  const rows = Object.entries<string>(defaults).map(([name, text]) =>
    [name, { type: 'string', default: text }] as const
  );
  return parseArgs({ args: Deno.args, options: Object.fromEntries(rows) }).values as Record<
    K,
    string
  >;
}

/** Does the work with a fresh folder on the disk that the sources are on. */
export async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await Deno.makeTempDir({ dir: '.', prefix: 'data-bench-' });
  try {
    return await work(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;
}
