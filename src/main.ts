/**
 * The program: reads the command line and runs a command. Whatever goes wrong ends in one line and
 * an exit code, never in a stack.
 */
import { Command, CommanderError } from 'commander';
import { EXIT, printError, Stop } from './cli/command.ts';
import { COMMANDS } from './cli/commands.ts';
import { takeFlagsOnce } from './cli/given_once.ts';
import { exitOf } from './cli/store_exit.ts';
import { messageOf } from './log.ts';
import { StoreError } from './store/store.ts';
import { VERSION } from './version.ts';

const program = new Command('nthbouncer')
  .description('Keeps callers within what an upstream API can take.')
  .version(VERSION)
  .enablePositionalOptions()
  .exitOverride()
  .showSuggestionAfterError(false)
  .configureOutput({
    writeErr: (text) => printError(text.trimEnd()),
    outputError: (text, write) => write(text.replace(/^error: /, 'nthbouncer: ')),
  });
for (const command of COMMANDS) command.add(program);
takeFlagsOnce(program);

// An empty variable counts as unset: it is what `${NAME:-}` of a Compose file gives.
for (const [name, value] of Object.entries(Deno.env.toObject())) {
  if (name.startsWith('NTHBOUNCER_') && value === '') Deno.env.delete(name);
}

try {
  await program.parseAsync(Deno.args, { from: 'user' });
} catch (error) {
  if (error instanceof Stop) {
    printError(`nthbouncer: ${error.message}`);
    Deno.exit(error.exit);
  }
  // Whoever read what was printed has seen enough.
  if (error instanceof Deno.errors.BrokenPipe) Deno.exit(EXIT.failed);
  // Commander has printed its line; asking for help or the version is no error.
  if (error instanceof CommanderError) Deno.exit(error.exitCode === 0 ? EXIT.ok : EXIT.usage);
  printError(`nthbouncer: ${messageOf(error)}`);
  Deno.exit(error instanceof StoreError ? exitOf(error) : EXIT.failed);
}
