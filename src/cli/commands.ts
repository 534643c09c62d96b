/**
 * The table of all commands.
 */
import { adminTokenCommand } from './admin_token.ts';
import type { Command } from './command.ts';
import { rateHeadersCommand } from './rate_headers_command.ts';
import { serveCommand } from './serve.ts';

export const COMMANDS: readonly Command[] = [serveCommand, adminTokenCommand, rateHeadersCommand];
