/**
 * `nthbouncer serve`, the one place where a server is put together: settings, database, scheduler,
 * HTTP and signals. It checks everything that can be checked before it touches anything.
 */
import { answerError, makeApp, makePoolApp, refuseUnread, type Respond } from '../http/app.ts';
import { Forwarding } from '../http/forwarding.ts';
import { openAccess } from '../access/access.ts';
import type { Vault } from '../access/vault.ts';
import { Desk } from '../http/desk.ts';
import { epochMs, type Server } from '../http/server.ts';
import { Serving } from '../http1/serving.ts';
import type { ServeSettings } from '../config.ts';
import { log, messageOf, startLog } from '../log.ts';
import { SystemClock } from '../scheduler/clock.ts';
import { Deadlines } from '../scheduler/deadlines.ts';
import { Directory } from '../scheduler/directory.ts';
import { GovernorKeeper } from '../scheduler/governor_keeper.ts';
import { Housekeeping } from '../scheduler/housekeeping.ts';
import { restoreStarts } from '../scheduler/restore_starts.ts';
import { patient } from '../scheduler/patience.ts';
import type { SchedulerEvents } from '../scheduler/scheduler.ts';
import { Scheduler } from '../scheduler/scheduler.ts';
import type { StoredPool } from '../store/store.ts';
import { SCHEMA_VERSION, VERSION } from '../version.ts';
import {
  adminHashOfEnvironment,
  adminHashOfStore,
  metricsHashOfEnvironment,
} from './admin_secret.ts';
import type { Command } from './command.ts';
import { EXIT, print, printError, Stop } from './command.ts';
import type { Database } from './database.ts';
import { openDatabase, patiently } from './database.ts';
import { dialer } from './dial.ts';
import { firstStart } from './first_start.ts';
import { warnOfOpenPools, warnOfPoolListener } from './exposure.ts';
import { lapseLog } from './lapse_log.ts';
import { Listener, readTls } from './listener.ts';
import { masterKeyOfEnvironment, vaultFor } from './master_key.ts';
import { dropPermissions } from './permissions.ts';
import type { FilePool } from './pool_file.ts';
import { applyPoolFile, PoolFileError, readPoolFile } from './pool_file.ts';
import { Reloads } from './reloads.ts';
import { addSettings, serveSettings } from './settings.ts';
import { stop, stopSignal } from './stopping.ts';

export const serveCommand: Command = {
  add: (program) => {
    const command = program.command('serve').description('run the server');
    addSettings(command, [
      'host',
      'port',
      'db',
      'baseDomain',
      'poolListen',
      'config',
      'trustedProxies',
      'clientIpHeader',
      'tlsCert',
      'tlsKey',
      'drainMs',
    ]).action((options: Record<string, unknown>) => serve(serveSettings(options)));
  },
};

const events: SchedulerEvents = {
  lapsed: lapseLog(),
  storeFailing: (error) => {
    log.error('the database does not take writes: {reason}', { reason: messageOf(error) });
  },
  storeRecovered: () => log.info('the database takes writes again'),
  storeLost: () => {
    printError('nthbouncer: another server has taken over the database');
    Deno.exit(EXIT.owned);
  },
  broken: (error) => {
    printError(`nthbouncer: ${messageOf(error)}`);
    Deno.exit(EXIT.failed);
  },
};

async function serve(settings: ServeSettings): Promise<void> {
  // The program may start commands for `run`; the server never does.
  await Deno.permissions.revoke({ name: 'run' });
  const signals = heardSignals();
  outliveFileSizeLimit();
  const environmentHash = adminHashOfEnvironment();
  const metricsHash = metricsHashOfEnvironment();
  const environmentKey = masterKeyOfEnvironment();
  const pools = await poolsOf(settings);
  const tls = await readTls(settings);
  startLog((line) => printError(line.trimEnd()));
  const vaultOf = (pools: readonly StoredPool[]) =>
    vaultFor(settings.db, { environmentKey, pools });
  // A key that does not open what is stored must be told before anything is changed.
  const opening = openDatabase(settings.db, {
    admit: async (pools) => void await vaultOf(pools),
    lost: events.storeLost,
  });
  const database = await unlessStopped(opening, signals.stopped);
  try {
    const vault = await vaultOf(database.snapshot.pools);
    await run(settings, {
      ...database,
      ...signals,
      environmentHash,
      metricsHash,
      vault,
      pools,
      tls,
    });
  } catch (error) {
    await database.store.close().catch(() => {});
    throw error;
  }
}

interface Signals {
  readonly stopped: Promise<void>;
  readonly reloads: Reloads;
}

/** From its first moment on the server is ended by no signal that it is to obey. */
function heardSignals(): Signals {
  const reloads = new Reloads();
  if (Deno.build.os !== 'windows') Deno.addSignalListener('SIGHUP', () => reloads.ask());
  return { stopped: stopSignal(), reloads };
}

/** A lock may keep the start waiting. A stop need not: until then nothing is to be ended. */
async function unlessStopped(
  opening: Promise<Database>,
  stopped: Promise<void>,
): Promise<Database> {
  return await Promise.race([stopped.then(() => null), opening]) ?? Deno.exit(EXIT.ok);
}

/** A write beyond `ulimit -f` then fails, as on a full disk, and does not end the process. */
function outliveFileSizeLimit(): void {
  if (Deno.build.os !== 'windows') Deno.addSignalListener('SIGXFSZ', () => {});
}

interface Parts extends Database, Signals {
  readonly environmentHash: string | null;
  readonly metricsHash: string | null;
  readonly vault: Vault;
  readonly pools: readonly FilePool[] | null;
  readonly tls: Awaited<ReturnType<typeof readTls>>;
}

async function run(settings: ServeSettings, parts: Parts): Promise<void> {
  const { snapshot, vault } = parts;
  const clock = new SystemClock();
  const store = patient(parts.store, clock);
  const { fence, attempt } = snapshot;
  const random = () => crypto.getRandomValues(new Uint32Array(1))[0]! / 2 ** 32;
  const scheduler = new Scheduler({ store, clock, fence, attempt, random, events });
  const { baseDomain } = settings;
  const directory = new Directory(store, scheduler, { vault, baseDomain });
  directory.load(snapshot);
  scheduler.restore(snapshot.leases);
  await restoreStarts(store, directory, clock.nowMs());
  const governors = new GovernorKeeper(store, scheduler);
  // The starts that an orderly stop saved stand no more: a crash from here on must not find them.
  const countsStarts = directory.list().some(({ spec }) => spec.rate.rpm !== null);
  if (countsStarts) await patiently(() => governors.save());
  const first = parts.pools === null ? await firstStart(store, directory, clock.nowMs()) : null;
  // Without a file nothing is owned by one any more.
  await applyPoolFile(directory, parts.pools ?? [], clock.nowMs()).catch((error) => {
    throw usageOf(error);
  });
  const listeners: Listener[] = [];
  const made = { store, scheduler, directory, governors, listeners };
  const server = await assemble(settings, { ...parts, ...made });
  await server.desk.start((pool) => directory.get(pool)?.createdAt ?? 0);
  const { nonces } = server.access;
  const housekeeping = new Housekeeping(store, { scheduler, directory, governors, nonces });
  // All files are made by now, and nobody was heard yet.
  await dropPermissions();
  const serving = (answer: Respond) =>
    new Serving({
      answer,
      failed: answerError,
      refuse: refuseUnread,
      epochMs: () => epochMs(server),
    });
  listeners.push(new Listener({ ...settings, flag: '--port' }, serving(makeApp(server))));
  for (const { pool, host, port } of settings.poolListen ?? []) {
    const bound = { host, port, flag: '--pool-listen' };
    listeners.push(new Listener(bound, serving(makePoolApp(server, pool))));
  }
  const [origin = '', ...others] = listeners.map((each) => each.open(parts.tls));
  const poolOrigins = (settings.poolListen ?? []).map(({ pool }, at) =>
    [pool, others[at] ?? ''] as const
  );
  housekeeping.start();
  warnOfOpenPools(directory, origin);
  for (const [pool, each] of poolOrigins) warnOfPoolListener(directory, pool, each);
  parts.reloads.begin(() => reload(settings, { directory, listeners, scheduler }));
  print(`nthbouncer listening on ${origin}`);
  for (const [pool, each] of poolOrigins) print(`the pool "${pool}" listens on ${each}`);
  await first?.(origin);
  await parts.stopped;
  await stop({ server, housekeeping, listeners, drainMs: settings.drainMs });
}

/** What the HTTP side stands on. */
async function assemble(
  settings: ServeSettings,
  parts: Parts & Pick<Server, 'scheduler' | 'directory' | 'governors'> & {
    readonly listeners: readonly Listener[];
  },
): Promise<Server> {
  const { store, scheduler, directory, governors, listeners, metricsHash } = parts;
  const { clock } = scheduler;
  const startedAtMs = clock.nowMs();
  const adminHash = parts.environmentHash ?? await adminHashOfStore(store, settings.db);
  const { trustedProxies, clientIpHeader } = settings;
  const access = openAccess({
    clock,
    keepNonce: (row) => scheduler.journal.keepNonce(row),
    ...(trustedProxies === undefined ? {} : { trustedProxies }),
    clientIpHeader,
  });
  access.nonces.restore(await store.readNonces());
  return {
    access,
    scheduler,
    directory,
    governors,
    store,
    deadlines: new Deadlines(clock),
    forwarding: new Forwarding({
      dial: dialer((remote, local) => listeners.some((one) => one.isAt(remote, local))),
      nowMs: () => clock.nowMs(),
    }),
    adminHash,
    desk: new Desk({ scheduler, store, adminHash, metricsHash }),
    isTls: parts.tls !== null,
    baseDomain: settings.baseDomain,
    describe: () => ({
      version: VERSION,
      runtime: `deno ${Deno.version.deno}`,
      schema: SCHEMA_VERSION,
      uptimeMs: clock.nowMs() - startedAtMs,
    }),
  };
}

async function reload(
  settings: ServeSettings,
  parts: { directory: Directory; listeners: readonly Listener[]; scheduler: Scheduler },
): Promise<void> {
  const { directory, scheduler } = parts;
  try {
    const pools = await poolsOf(settings);
    const tls = await readTls(settings);
    // The pools first: they can still be refused, with all left as it was.
    if (pools !== null) await applyPoolFile(directory, pools, scheduler.clock.nowMs());
    for (const listener of parts.listeners) listener.reload(tls);
    log.info('configuration reloaded');
  } catch (error) {
    log.error('configuration not reloaded: {reason}', { reason: messageOf(error) });
  }
}

async function poolsOf({ config, baseDomain }: ServeSettings): Promise<FilePool[] | null> {
  if (config === undefined) return null;
  try {
    return await readPoolFile(config, baseDomain);
  } catch (error) {
    throw usageOf(error);
  }
}

function usageOf(error: unknown): unknown {
  return error instanceof PoolFileError
    ? new Stop(EXIT.usage, `--config: ${error.message}`)
    : error;
}
