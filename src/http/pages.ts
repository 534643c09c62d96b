/**
 * The pages under /admin: each asks the JSON API for what it shows.
 */
import type { Context } from 'hono';
import type { Child } from 'hono/jsx';
import { FaultPage } from '../admin/layout.tsx';
import { LogPage } from '../admin/log.tsx';
import { QueuePage, SlotsPage } from '../admin/tables.tsx';
import type { PoolPage, Tab } from '../admin/pool.tsx';
import { Overview } from '../admin/pool.tsx';
import { PoolsPage } from '../admin/pools.tsx';
import { AccessPage } from '../admin/access.tsx';
import { SettingsPage } from '../admin/settings.tsx';
import type { Json, Page } from '../admin/shapes.ts';
import { ERRORS } from '../errors.ts';
import { entryOf } from './admin_body.ts';
import { assetRoutes } from './assets.ts';
import { Fault } from './fault.ts';
import { referenceRoutes } from './openapi.ts';
import { readApi } from './inside.ts';
import { exportLog, logPath } from './log_export.ts';
import { act, makePool } from './page_actions.ts';
import { shownOf } from './page_changes.ts';
import { goTo, pageAnswer } from './page_answer.ts';
import { poolView } from './pool_view.ts';
import type { Route } from './route.ts';
import type { Server } from './server.ts';
import { epochMs } from './server.ts';
import { sessionOf } from './session.ts';
import { showSignIn, signIn, signOut } from './sign_in.ts';

const POOLS_SHOWN = 100;
const LOG_ROWS = 100;
const POOL = '/admin/pools/:pool';

export const PAGE_ROUTES: readonly Route[] = [
  { method: 'GET', path: '/admin', access: 'page', answer: showPools },
  { method: 'GET', path: '/admin/', access: 'page', answer: (context) => goTo(context, '/admin') },
  { method: 'GET', path: '/admin/sign-in', access: 'open', answer: showSignIn },
  { method: 'POST', path: '/admin/sign-in', access: 'open', answer: signIn },
  { method: 'POST', path: '/admin/sign-out', access: 'page', answer: signOut },
  { method: 'POST', path: '/admin/pools', access: 'page', answer: makePool },
  { method: 'POST', path: `${POOL}/act/:what`, access: 'page', answer: act },
  {
    method: 'GET',
    path: `${POOL}/log/:file{export\\.(?:csv|jsonl)}`,
    access: 'page',
    answer: exportLog,
  },
  { method: 'GET', path: POOL, access: 'page', answer: showPool('overview') },
  { method: 'GET', path: `${POOL}/slots`, access: 'page', answer: showPool('slots') },
  { method: 'GET', path: `${POOL}/queue`, access: 'page', answer: showPool('queue') },
  { method: 'GET', path: `${POOL}/settings`, access: 'page', answer: showPool('settings') },
  { method: 'GET', path: `${POOL}/access`, access: 'page', answer: showPool('access') },
  { method: 'GET', path: `${POOL}/log`, access: 'page', answer: showPool('log') },
  ...referenceRoutes,
  ...assetRoutes,
];

/** Told to people where there is no page; nobody who is not signed in learns which there are. */
export const NO_PAGE: Route = {
  method: 'GET',
  path: '/admin/*',
  access: 'page',
  answer: (context, server) => {
    const page = pageOf(context, server, 'No such page');
    const message = 'There is no page at this address.';
    return pageAnswer(context, FaultPage({ page, message }), ERRORS.not_found.status);
  },
};

function pageOf(context: Context, server: Server, title: string): Page {
  const id = sessionOf(context.req.raw, server);
  return { title, writeToken: id === null ? '' : server.desk.sessions.writeToken(id) };
}

function showPools(context: Context, server: Server): Promise<Response> {
  const search = (context.req.query('search') ?? '').slice(0, 63);
  const entries = server.directory.list();
  const found = entries.filter(({ spec }) => spec.name.includes(search));
  const rows = found.slice(0, POOLS_SHOWN).map((entry) => ({
    ...poolView(entry, server.scheduler.clock),
    recent: server.desk.history.read(entry.spec.name, '5m').inUse,
  }));
  const page = pageOf(context, server, 'Pools');
  const total = entries.length;
  return pageAnswer(context, PoolsPage({ page, rows, search, found: found.length, total }));
}

function showPool(tab: Tab) {
  return async (context: Context, server: Server): Promise<Response> => {
    try {
      const entry = entryOf(context, server);
      const { name } = entry.spec;
      const page = pageOf(context, server, `${name}: ${tab}`);
      const frame = {
        page,
        view: poolView(entry, server.scheduler.clock),
        tab,
        isManaged: entry.isManaged,
      };
      return await pageAnswer(context, await TABS[tab](frame, context, server));
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      const page = pageOf(context, server, 'This page cannot be shown');
      const { status } = ERRORS[error.code];
      return pageAnswer(context, FaultPage({ page, message: error.message }), status);
    }
  };
}

const read = (frame: PoolPage, server: Server, path: string) =>
  readApi(server, `/pools/${frame.view.name}${path}`);

async function keysOf(frame: PoolPage, server: Server): Promise<Json[]> {
  const { keys } = await read(frame, server, '/keys');
  const nowMs = epochMs(server);
  return (keys as Json[]).map((key) => {
    const { expiresAt } = key;
    return { ...key, isExpired: typeof expiresAt === 'number' && expiresAt <= nowMs };
  });
}

const isJson = (context: Context) => context.req.query('as') === 'json';

type Show = (frame: PoolPage, context: Context, server: Server) => Promise<Child>;

const TABS: Readonly<Record<Tab, Show>> = {
  overview: async (frame, context, server) => {
    const { events } = await read(frame, server, '/governor/events?limit=100');
    const spec = await read(frame, server, '');
    const place = { origin: new URL(context.req.url).origin, baseDomain: server.baseDomain };
    return Overview({ frame, spec, changes: events as Json[], place });
  },
  slots: async (frame, _, server) => {
    const { slots } = await read(frame, server, '/slots');
    const keys = await keysOf(frame, server);
    return SlotsPage({ frame, rows: slots as Json[], keys, atMs: epochMs(server) });
  },
  queue: async (frame, _, server) => {
    const { waiters } = await read(frame, server, '/waiters');
    const keys = await keysOf(frame, server);
    return QueuePage({ frame, rows: waiters as Json[], keys, atMs: epochMs(server) });
  },
  settings: async (frame, context, server) => {
    const shown = await shownOf(server, frame.view.name);
    return SettingsPage({ frame, shown, isJson: isJson(context) });
  },
  access: async (frame, context, server) => {
    const shown = await shownOf(server, frame.view.name);
    const keys = await keysOf(frame, server);
    return AccessPage({ frame, shown, keys, isJson: isJson(context) });
  },
  log: async (frame, context, server) => {
    const { outcome = '', keyId = '', minutes = '', cursor = '' } = context.req.query();
    const path = logPath(context, server, { limit: LOG_ROWS, cursor });
    const { entries, nextCursor } = await readApi(server, path);
    const filter = { outcome, keyId, minutes };
    const keys = await keysOf(frame, server);
    const next = nextCursor as string | null;
    const isNewest = cursor === '';
    return LogPage({ frame, rows: entries as Json[], keys, filter, isNewest, next });
  },
};
