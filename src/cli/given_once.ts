/**
 * A flag with a value counts once: of two, one would be dropped without a word. Variables are no
 * second time: a flag wins over its own.
 */
import type { Command as Program } from 'commander';
import { EXIT, Stop } from './command.ts';

/** Has every flag with a value, of the program and all below it, refused where it comes again. */
export function takeFlagsOnce(program: Program): void {
  for (const option of program.options) {
    if (!option.required && !option.optional) continue;
    let isGiven = false;
    program.on(`option:${option.name()}`, () => {
      const isList = Array.isArray(program.getOptionValue(option.attributeName()));
      if (isGiven) throw new Stop(EXIT.usage, again(`--${option.name()}`, isList));
      isGiven = true;
    });
  }
  for (const command of program.commands) takeFlagsOnce(command);
}

function again(flag: string, isList: boolean): string {
  const once = `${flag} may be given once, and came again`;
  return isList ? `${once}; its entries are separated by commas` : once;
}
