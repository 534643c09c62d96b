/**
 * What the commands of the console share: how options are read, and how an answer is shown, as JSON
 * for programs or as a table for people. What a server tells never moves the cursor.
 */
import type { Command } from 'commander';
import { InvalidArgumentError } from 'commander';
import type { Row } from './admin_client.ts';
import { print } from './command.ts';

export interface Shown {
  readonly json?: boolean;
}

/** A command of the console, with `--json`. */
export function consoleCommand(parent: Command, name: string, about: string): Command {
  return parent.command(name).description(about).option('--json', 'print JSON');
}

/** Reads a whole number for an option of commander. */
export function count(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number.');
}

export type Column = readonly [title: string, cell: (row: Row) => string];

/** Prints a table of rows, or what there is to say where there are none. */
export function printTable(rows: readonly Row[], columns: readonly Column[], none: string): void {
  if (rows.length === 0) print(none);
  else for (const line of tableOf(rows, columns)) print(line);
}

export function printJson(value: unknown): void {
  print(JSON.stringify(value, null, 2));
}

/** The lines of a table: columns of numbers stand to the right. */
export function tableOf(rows: readonly Row[], columns: readonly Column[]): string[] {
  const cells = rows.map((row) => columns.map(([, cell]) => harmless(cell(row))));
  const table = [columns.map(([title]) => title), ...cells];
  const widths = columns.map((_, at) => Math.max(...table.map((line) => line[at]!.length)));
  const isNumeric = columns.map((_, at) =>
    cells.length > 0 && cells.every((line) => /^(\d[\d.]*|-)$/.test(line[at]!))
  );
  return table.map((line) =>
    line.map((cell, at) => isNumeric[at] ? cell.padStart(widths[at]!) : cell.padEnd(widths[at]!))
      .join('  ').trimEnd()
  );
}

/** Text without what a terminal would take for a command. */
export function harmless(text: string): string {
  return text.replace(/\p{C}/gu, '�');
}
