/**
 * `nthbouncer run POOL -- command`: holds a slot while a command runs. The command must be gone
 * before the slot can be another's, so it is told to end, and then killed with all that it started,
 * while the lease still lasts. No secret of ours reaches it.
 */
import { basename } from 'node:path';
import { BadAnswer, connect, Refused, SlotLost, Unreachable } from '../client/client.ts';
import type { Pool, Slot } from '../client/client.ts';
import { messageOf } from '../log.ts';
import type { Command } from './command.ts';
import { EXIT, printError, Stop } from './command.ts';
import { count, harmless } from './show.ts';
import { oneWord } from './one_word.ts';
import { durationMs } from './duration.ts';
import { Guard, numberOf, ProcessGroup } from './process_group.ts';
import { serverUrl } from './server_url.ts';
import { Signals } from './signals.ts';
import { strangerAt, whyUnreached } from './unreached.ts';
import { WaitLine } from './wait_line.ts';

interface Options {
  readonly wait?: number;
  readonly keyFile?: string;
  readonly slots?: number;
  readonly tokens?: number;
  readonly holder?: string;
  readonly grace?: number;
}

export const runCommand: Command = {
  add: (program) => {
    program.command('run')
      .description('run a command while holding a slot of a pool')
      .usage('POOL [options] -- COMMAND [ARGUMENT…]')
      .argument('<pool>', 'the pool')
      .argument('<command...>', 'the command and its arguments')
      .option('--wait <duration>', 'wait for a slot, 30s say; else fail at once', durationMs)
      .option('--key-file <file>', 'holds the key; else NTHBOUNCER_KEY does')
      .option('--slots <number>', 'how many slots to take', count)
      .option('--tokens <number>', 'an estimate of LLM tokens to reserve', count)
      .option('--holder <label>', 'what administrators see; else the name of the command')
      .option('--grace <duration>', 'between SIGTERM and SIGKILL when the lease ends', durationMs)
      .addHelpText('after', HELP)
      .action(async (pool: string, command: string[], options: Options) => {
        if (Deno.build.os === 'windows') {
          throw new Stop(EXIT.usage, 'run: works on Linux and macOS, which have process groups');
        }
        Deno.exit(await run(pool, command, options));
      });
  },
};

const HELP = `
Options may also stand before POOL; what follows -- is the command's alone.
Exits with the command's own code, or 128 and the number of the signal that ended it; 75: no slot;
124: the lease was lost and the command ended; 126, 127: the command cannot be started. A command
that exits with 75 itself is reported as throttled by the upstream, with any other code as failed.
NTHBOUNCER_URL names the server.`;

/** The last moment of a lease, in which nothing of the command may run any more. */
const marginMs = (termMs: number) => Math.min(1_000, termMs / 10);
const GRACE_MS = 5_000;
/** For a lease that is another's already, perhaps. */
const GONE_GRACE_MS = 1_000;
const EX_TEMPFAIL = 75;
/** Characters that a holder's label may have. */
const LABEL_MAX = 128;

async function run(name: string, command: readonly string[], options: Options): Promise<number> {
  const key = await keyOf(options);
  const pool = connect({ url: serverUrl(), pool: name, ...(key === null ? {} : { key }) });
  const { grace = GRACE_MS } = options;
  const graceMs = (termMs: number) => Math.min(grace, termMs / 6);
  let renewed = () => {};
  const signals = new Signals();
  const isKeyless = key === null && options.keyFile === undefined;
  const slot = await acquired(pool, { name, isKeyless }, {
    waitMs: options.wait ?? 0,
    signal: signals.given,
    holder: options.holder ?? labelOf(command[0] ?? ''),
    marginMs: (termMs: number) => marginMs(termMs) + graceMs(termMs),
    onRenewed: () => renewed(),
    ...(options.slots === undefined ? {} : { slots: options.slots }),
    ...(options.tokens === undefined ? {} : { tokens: options.tokens }),
  });
  const group = await started(command, slot, name);
  const guard = new Guard(group.pid);
  renewed = () => guard.set(slot.remainingMs - marginMs(slot.termMs));
  renewed();
  const end = endWithLease(slot, group);
  signals.forwardTo(group);
  const { exitCode } = await group.ended;
  // Back from a stop, this process may hear of the command's end before that of its lease.
  await new Promise((done) => setTimeout(done));
  end.cancel();
  await group.sweep();
  guard.clear();
  await slot.release(reportOf(exitCode)).catch((error) => {
    printError(`nthbouncer: the slot was not released: ${messageOf(error)}`);
  });
  return end.isLost() ? EXIT.lost : exitCode;
}

/** The command's name, as far as a label may hold it; a file may have any. */
export function labelOf(command: string): string {
  return [...harmless(basename(command))].slice(0, LABEL_MAX).join('');
}

/** Where the slot's signal fires, ends the group within what is left of the lease. */
function endWithLease(slot: Slot, group: ProcessGroup) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const { signal } = slot;
  const lose = () => {
    const lost = signal.reason as SlotLost;
    printError(`nthbouncer: ${messageOf(lost)} The command must end.`);
    const leftMs = slot.remainingMs - marginMs(slot.termMs);
    const killInMs = lost.cause === 'gone' ? Math.min(GONE_GRACE_MS, leftMs) : leftMs;
    // A stopped process hears SIGTERM only once it goes on.
    group.signal('SIGTERM');
    group.signal('SIGCONT');
    timer = setTimeout(() => group.signal('SIGKILL'), Math.max(0, killInMs));
  };
  // A short lease may be over by the time that the command has started.
  if (signal.aborted) lose();
  else signal.addEventListener('abort', lose);
  return { cancel: () => clearTimeout(timer), isLost: () => signal.aborted };
}

async function acquired(
  pool: Pool,
  { name, isKeyless }: { name: string; isKeyless: boolean },
  ask: NonNullable<Parameters<Pool['acquire']>[0]> & { waitMs: number; signal: AbortSignal },
): Promise<Slot> {
  const line = new WaitLine(name, ask.waitMs);
  try {
    const onPlace = (place: number) => line.stands(place);
    return await pool.acquire(line.isShown ? { ...ask, onPlace } : ask);
  } catch (error) {
    if (ask.signal.aborted) Deno.exit(128 + numberOf(ask.signal.reason));
    throw stopOf(error, { name, isKeyless });
  } finally {
    line.end();
  }
}

function stopOf(
  error: unknown,
  { name, isKeyless }: { name: string; isKeyless: boolean },
): unknown {
  if (error instanceof Unreachable) {
    const why = error.cause === undefined ? error.message : whyUnreached(error.cause);
    return new Stop(EXIT.unreachable, `${serverUrl()} does not answer: ${why}`);
  }
  if (error instanceof BadAnswer) {
    return new Stop(EXIT.unreachable, `${strangerAt(serverUrl())}: ${error.message}`);
  }
  if (error instanceof SlotLost) {
    return new Stop(EXIT.noSlot, `no slot of ${name}: ${error.message}`);
  }
  if (!(error instanceof Refused)) return error;
  const mayPass = error.status === 429 || error.status >= 500;
  const why = error.reason === undefined ? '' : ` (${error.reason})`;
  const hint = isKeyless && error.status === 401 ? ' NTHBOUNCER_KEY is not set.' : '';
  return new Stop(
    mayPass ? EXIT.noSlot : EXIT.refused,
    `no slot of ${name}${why}: ${error.message}${hint}`,
  );
}

async function started(
  command: readonly string[],
  slot: Slot,
  pool: string,
): Promise<ProcessGroup> {
  try {
    return await ProcessGroup.start(command, environment(Deno.env.toObject(), slot, pool));
  } catch (error) {
    await slot.release({ status: 500 }).catch(() => {});
    const isUnknown = (error as { code?: unknown }).code === 'ENOENT';
    const why = isUnknown ? 'there is no such command' : messageOf(error);
    const exit = isUnknown ? EXIT.notFound : EXIT.notExecutable;
    throw new Stop(exit, `cannot start ${command[0]}: ${why}`);
  }
}

/** What the command sees: our variables are ours, whatever they hold. */
export function environment(
  own: Readonly<Record<string, string>>,
  slot: Pick<Slot, 'slotId' | 'fence'>,
  pool: string,
): Record<string, string> {
  const passed = Object.entries(own).filter(([name]) => !/^NTHBOUNCER_/i.test(name));
  return {
    ...Object.fromEntries(passed),
    NTHBOUNCER_POOL: pool,
    NTHBOUNCER_SLOT_ID: slot.slotId,
    NTHBOUNCER_FENCE: String(slot.fence),
  };
}

function reportOf(exitCode: number) {
  if (exitCode === 0) return { status: 200 };
  return exitCode === EX_TEMPFAIL ? { status: 429, throttled: 1 } : { status: 500 };
}

/** The key from its file or variable; never a flag, which every user of the machine could read. */
async function keyOf({ keyFile }: Options): Promise<string | null> {
  if (keyFile === undefined) return oneWord(Deno.env.get('NTHBOUNCER_KEY'), 'NTHBOUNCER_KEY');
  const text = await Deno.readTextFile(keyFile).catch((error) => {
    throw new Stop(EXIT.usage, `--key-file: ${messageOf(error)}`);
  });
  return oneWord(text.trim(), '--key-file');
}
