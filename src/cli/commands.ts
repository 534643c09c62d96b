/**
 * The table of all commands.
 */
import { adminTokenCommand } from './admin_token.ts';
import { backupCommand } from './backup.ts';
import type { Command } from './command.ts';
import { doctorCommand } from './doctor.ts';
import { explainCommand } from './explain.ts';
import { keyCommand } from './key_commands.ts';
import { logCommand } from './log_command.ts';
import { poolCommand } from './pool_commands.ts';
import { rateHeadersCommand } from './rate_headers_command.ts';
import { rekeyCommand } from './rekey.ts';
import { restoreCommand } from './restore.ts';
import { runCommand } from './run.ts';
import { serveCommand } from './serve.ts';
import { signCommand } from './sign.ts';
import { killCommand, slotsCommand } from './slot_commands.ts';
import { topCommand } from './top.ts';

export const COMMANDS: readonly Command[] = [
  serveCommand,
  runCommand,
  poolCommand,
  keyCommand,
  slotsCommand,
  killCommand,
  logCommand,
  topCommand,
  explainCommand,
  backupCommand,
  restoreCommand,
  doctorCommand,
  adminTokenCommand,
  rekeyCommand,
  signCommand,
  rateHeadersCommand,
];
