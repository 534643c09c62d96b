/**
 * What the commands of the console share: how options are read, and how an answer is shown, as JSON
 * for programs or as a table for people.
 */
import { InvalidArgumentError } from 'commander';

/** Reads a whole number for an option of commander. */
export function count(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number.');
}
