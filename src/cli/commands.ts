/**
 * The table of all commands.
 */
import { adminTokenCommand } from './admin_token.ts';
import type { Command } from './command.ts';
import { rateHeadersCommand } from './rate_headers_command.ts';
import { rekeyCommand } from './rekey.ts';
import { serveCommand } from './serve.ts';
import { signCommand } from './sign.ts';

export const COMMANDS: readonly Command[] = [
  serveCommand,
  adminTokenCommand,
  rekeyCommand,
  signCommand,
  rateHeadersCommand,
];
