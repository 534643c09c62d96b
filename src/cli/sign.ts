/**
 * `nthbouncer sign`: prints the headers of a signed request, one a line, as `curl -H @-` reads
 * them. The secret comes from the environment or a file, never from the command line, where other
 * users of the machine could read it.
 */
import { signedHeaders } from '../access/signed_text.ts';
import { messageOf } from '../log.ts';
import { SystemClock } from '../scheduler/clock.ts';
import type { Command } from './command.ts';
import { EXIT, print, Stop } from './command.ts';

const VARIABLE = 'NTHBOUNCER_HMAC_SECRET';
/** A signature for another pool than the path's can never pass. */
const LOCK_PATH = /^\/pools\/([^/?#]+)\/lock\//;

interface SignOptions {
  readonly pool: string;
  readonly door: string;
  readonly method: string;
  readonly body?: string;
  readonly bodyFile?: string;
  readonly secretFile?: string;
}

export const signCommand: Command = {
  add: (program) => {
    program.command('sign')
      .description('print the HMAC headers of a request; the secret is in NTHBOUNCER_HMAC_SECRET')
      .argument('<target>', 'path and query exactly as they will be sent, or a whole URL')
      .requiredOption('--pool <name>', 'the pool')
      .option('--door <door>', "lock (the API) or proxy (the pool's host)", 'lock')
      .option('--method <method>', 'the HTTP method', 'POST')
      .option('--body <text>', 'the body that will be sent')
      .option('--body-file <file>', 'the same from a file')
      .option('--secret-file <file>', 'a file that holds the secret')
      .action(async (target: string, options: SignOptions) => {
        for (const line of await sign(target, options)) print(line);
      });
  },
};

async function sign(target: string, options: SignOptions): Promise<string[]> {
  const { pool, door, method, body, bodyFile } = options;
  if (door !== 'lock' && door !== 'proxy') {
    throw new Stop(EXIT.usage, 'sign: --door must be lock or proxy');
  }
  if (body !== undefined && bodyFile !== undefined) {
    throw new Stop(EXIT.usage, 'sign: --body and --body-file exclude each other');
  }
  const path = target.replace(/^https?:\/\/[^/?#]+/i, '');
  const [, named = pool] = door === 'lock' ? LOCK_PATH.exec(path) ?? [] : [];
  if (named !== pool) {
    throw new Stop(EXIT.usage, `sign: --pool is ${pool}, and ${target} is of the pool ${named}`);
  }
  const headers = signedHeaders(await secretOf(options), {
    pool,
    door,
    method: method.toUpperCase(),
    target: path,
    timestamp: String(new SystemClock().nowMs()),
    nonce: crypto.randomUUID(),
    body: bodyFile === undefined ? new TextEncoder().encode(body) : await read(bodyFile),
  });
  return Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
}

async function secretOf({ secretFile }: SignOptions): Promise<string> {
  const secret = secretFile === undefined
    ? Deno.env.get(VARIABLE) ?? ''
    : new TextDecoder().decode(await read(secretFile)).replace(/\r?\n$/, '');
  if (secret !== '') return secret;
  throw new Stop(EXIT.usage, `sign: ${VARIABLE} or --secret-file with the secret is wanted`);
}

async function read(path: string): Promise<Uint8Array> {
  try {
    return await Deno.readFile(path);
  } catch (error) {
    throw new Stop(EXIT.usage, `sign: ${messageOf(error)}`);
  }
}
