/**
 * What the API document says of each route: one row a route, in the words of the schemas that check
 * and type it. A test holds these rows and the table of routes together.
 */
import { z } from 'zod';
import * as answers from '../answers.ts';
import { SPANS } from '../scheduler/history.ts';
import {
  AcquireBody,
  ChangesParams,
  KeyBody,
  LogParams,
  PauseBody,
  PoolSpec,
  ReleaseBody,
} from '../wire.ts';
import { ASKED, LEASE_MS, OF_POOL, type OwnHeader } from './own_headers.ts';

export interface Row {
  readonly tag: 'locks' | 'pools' | 'keys' | 'state' | 'governor' | 'server';
  readonly about: string;
  readonly body?: z.ZodType;
  /** The body may have any of the schema's fields, or null for them. */
  readonly isMerge?: boolean;
  readonly query?: z.ZodType;
  /** Headers that are asked with, and that are told beside those of every refusal. */
  readonly headers?: {
    readonly asked: readonly OwnHeader[];
    readonly granted: readonly OwnHeader[];
    readonly refused: readonly OwnHeader[];
  };
  readonly status?: number;
  /** JSON by its schema, or another media type; null: no body. */
  readonly answer: z.ZodType | string | null;
}

const LOCK = '/pools/{pool}/lock';
const POOL = '/admin/api/pools/{pool}';

const row = (tag: Row['tag'], about: string, answer: Row['answer'], more: Partial<Row> = {}) => ({
  tag,
  about,
  answer,
  ...more,
});

export const ROWS: Readonly<Record<string, Row>> = {
  [`POST ${LOCK}/acquire`]: row('locks', 'Acquire a slot', answers.GrantAnswer, {
    body: AcquireBody,
    headers: {
      asked: Object.values(ASKED),
      granted: [...Object.values(OF_POOL), LEASE_MS],
      refused: Object.values(OF_POOL),
    },
  }),
  [`POST ${LOCK}/{slotId}/renew`]: row('locks', 'Renew a lease', answers.RenewAnswer),
  [`POST ${LOCK}/{slotId}/release`]: row('locks', 'Release a slot', answers.ReleaseAnswer, {
    body: ReleaseBody,
  }),
  'GET /admin/api/pools': row('pools', 'List pools', answers.PoolsAnswer),
  'POST /admin/api/pools': row('pools', 'Make a pool', answers.PoolAnswer, {
    body: PoolSpec,
    status: 201,
  }),
  [`GET ${POOL}`]: row('pools', 'Read a pool', answers.PoolAnswer),
  [`PATCH ${POOL}`]: row('pools', 'Change a pool by merge (RFC 7396)', answers.PoolAnswer, {
    body: PoolSpec,
    isMerge: true,
  }),
  [`DELETE ${POOL}`]: row('pools', 'Delete a pool', null, { status: 204 }),
  [`POST ${POOL}/pause`]: row('pools', 'Pause', answers.PausedAnswer, { body: PauseBody }),
  [`POST ${POOL}/resume`]: row('pools', 'Resume', answers.PausedAnswer),
  [`POST ${POOL}/drain`]: row('pools', 'Pause, and wait until it is empty', answers.DrainedAnswer),
  [`GET ${POOL}/keys`]: row('keys', 'List keys, without secrets', answers.KeysAnswer),
  [`POST ${POOL}/keys`]: row('keys', 'Make a key, shown once', answers.KeyAnswer, {
    body: KeyBody,
    status: 201,
  }),
  [`DELETE ${POOL}/keys/{id}`]: row('keys', 'Revoke a key', null, { status: 204 }),
  [`GET ${POOL}/status`]: row('state', 'What the pool does now', answers.StatusAnswer),
  [`GET ${POOL}/slots`]: row('state', 'Held slots', answers.SlotsAnswer),
  [`DELETE ${POOL}/slots/{ref}`]: row('state', 'Take a slot back', null, { status: 204 }),
  [`GET ${POOL}/waiters`]: row('state', 'Who waits', answers.WaitersAnswer),
  [`GET ${POOL}/log`]: row('state', 'Access log, newest first', answers.LogAnswer, {
    query: LogParams,
  }),
  [`GET ${POOL}/history`]: row(
    'state',
    'Charts: span 5m, 1h or 24h',
    answers.HistoryAnswer,
    { query: z.object({ span: z.enum(Object.keys(SPANS)).default('5m') }) },
  ),
  'GET /admin/api/events': row('state', 'Live pools and log rows', 'text/event-stream', {
    query: z.object({
      pool: z.string().optional().describe('that one alone'),
      log: z.enum(['0', '1']).default('1').describe('0: no log rows'),
    }),
  }),
  [`GET ${POOL}/governor`]: row('governor', 'Why it holds back', answers.GovernorOfPoolAnswer),
  [`GET ${POOL}/governor/events`]: row('governor', 'What changed', answers.ChangesAnswer, {
    query: ChangesParams,
  }),
  [`POST ${POOL}/governor/forget`]: row('governor', 'Forget', answers.GovernorAnswer),
  'GET /admin/api/version': row('server', 'Version and uptime', answers.VersionAnswer),
  'GET /healthz': row('server', 'The process is up', answers.OkAnswer),
  'GET /readyz': row('server', 'The database takes writes', answers.OkAnswer),
  'GET /metrics': row('server', 'Metrics for Prometheus', 'text/plain'),
  'GET /openapi.json': row('server', 'This document', 'application/json'),
};
