/**
 * `nthbouncer admin-token --reset`: makes a new admin token for a database that no server holds.
 */
import { resetAdminToken } from './admin_secret.ts';
import type { Command } from './command.ts';
import { EXIT, printError, Stop } from './command.ts';
import { openKnownDatabase } from './database.ts';
import { addSettings } from './settings.ts';

export const adminTokenCommand: Command = {
  add: (program) => {
    const command = program.command('admin-token')
      .description('make a new admin token; the server must be stopped')
      .option('--reset', 'make a new token in place of the old one');
    addSettings(command, ['db']).action(async (options: { reset?: boolean; db: string }) => {
      if (!options.reset) throw new Stop(EXIT.usage, 'admin-token: --reset is wanted');
      const { store } = await openKnownDatabase(options.db);
      await resetAdminToken(store, options.db);
      await store.close();
      // Somebody who administers from this shell and starts the server in it would be locked out.
      if (Deno.env.has('NTHBOUNCER_ADMIN_TOKEN')) {
        printError('NTHBOUNCER_ADMIN_TOKEN is set here and wins over the new token: set it anew');
      }
    });
  },
};
