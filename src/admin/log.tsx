/**
 * A pool's access log: filters, the newest attempts, which may be followed live, and its export.
 */
import type { LoggedOutcome } from '../errors.ts';
import { Empty, Time } from './layout.tsx';
import { PoolLayout } from './pool.tsx';
import type { Json } from './shapes.ts';
import { seconds, text } from './shapes.ts';
import type { Column } from './table.tsx';
import { Cut, KeyName, Table } from './table.tsx';
import type { Rows } from './tables.tsx';

export interface LogFilter {
  readonly outcome: string;
  readonly keyId: string;
  readonly minutes: string;
}

/** How an attempt may end, the likely first. */
const OUTCOMES: readonly LoggedOutcome[] = [
  'granted',
  'too_many_requests',
  'queue_timeout',
  'client_gone',
  'unauthorized',
  'invalid_request',
  'payload_too_large',
  'head_too_large',
  'upstream_unreachable',
  'upstream_timeout',
  'no_upstream',
  'upgrade_unsupported',
  'loop_detected',
  'overloaded',
  'shutting_down',
  'storage_unavailable',
  'internal',
];

const MINUTES = [['5', '5 minutes'], ['60', 'hour'], ['1440', 'day'], ['10080', '7 days']] as const;

export function LogPage(
  { frame, rows, keys, filter, isNewest, next }: Rows & {
    filter: LogFilter;
    /** Whether the newest attempts are shown: what comes goes on from them. */
    isNewest: boolean;
    next: string | null;
  },
) {
  const base = `/admin/pools/${frame.view.name}/log`;
  const query = new URLSearchParams({ ...filter }).toString();
  const isNarrowed = Object.values(filter).some((value) => value !== '');
  return (
    <PoolLayout {...frame}>
      <h2>Access log</h2>
      <Filters base={base} keys={keys} filter={filter} />
      <p class='row'>
        {isNewest
          ? (
            <>
              <label>
                <input type='checkbox' role='switch' data-follow={frame.view.name} /> Follow
              </label>
              <small data-missed=''>The newest 80 rows a second at the most.</small>
            </>
          )
          : <a href={`${base}?${query}`}>Newest</a>}
        <span>
          Export: <a href={`${base}/export.csv?${query}`} download=''>CSV</a>,{' '}
          <a href={`${base}/export.jsonl?${query}`} download=''>JSON lines</a>
        </span>
      </p>
      <Table label='Access log' columns={columnsOf(keys)} rows={rows} />
      {rows.length > 0
        ? null
        : <Nothing base={base} isNarrowed={isNarrowed} hasOlder={next !== null} />}
      {next === null ? null : <a href={`${base}?${query}&cursor=${next}`}>Older</a>}
    </PoolLayout>
  );
}

/** Why no row is shown; a page may be empty although older attempts match. */
function Nothing(
  { base, isNarrowed, hasOlder }: { base: string; isNarrowed: boolean; hasOlder: boolean },
) {
  if (!isNarrowed) {
    return <Empty>No attempt yet. Each acquire leaves a row here, granted or refused.</Empty>;
  }
  return (
    <Empty>
      {hasOlder ? 'No attempt up to here matches; older ones may.' : 'No attempt matches.'}{' '}
      <a href={base}>Show all</a>
    </Empty>
  );
}

function Filters(
  { base, keys, filter }: { base: string; keys: readonly Json[]; filter: LogFilter },
) {
  const named = keys.map((key) => [text(key['id']), text(key['name'])] as const);
  return (
    <form method='get' action={base} class='filters'>
      <Choice label='Outcome' name='outcome' of={OUTCOMES.map((one) => [one, one])} in={filter} />
      <Choice label='Key' name='keyId' of={named} in={filter} />
      <Choice label='In the last' name='minutes' of={MINUTES} in={filter} />
      <button type='submit' class='secondary'>Filter</button>
    </form>
  );
}

/** What an address in the browser names beyond the choices is a choice too. */
function Choice(
  { label, name, of, in: filter }: {
    label: string;
    name: keyof LogFilter;
    of: readonly (readonly [value: string, shown: string])[];
    in: LogFilter;
  },
) {
  const chosen = filter[name];
  const isKnown = chosen === '' || of.some(([value]) => value === chosen);
  const unnamed = name === 'minutes' ? `${chosen} minutes` : chosen;
  return (
    <label>
      {label}
      <select name={name}>
        <option value=''>{name === 'minutes' ? 'all that is kept' : 'any'}</option>
        {[...isKnown ? [] : [[chosen, unnamed] as const], ...of].map(([value, shown]) => (
          <option value={value} selected={value === chosen}>{shown}</option>
        ))}
      </select>
    </label>
  );
}

/** A summary row tells for how many attempts it stands. */
function outcome(entry: Json): string {
  const told = text(entry['outcome']);
  return entry['count'] === undefined ? told : `${told} × ${text(entry['count'])}`;
}

/** The browser adds rows of the same columns while it follows. */
function columnsOf(keys: readonly Json[]): Column[] {
  return [
    { head: 'When', show: (entry) => <Time ms={entry['at']} /> },
    { head: 'Outcome', show: outcome },
    { head: 'Reason', show: (entry) => <Cut value={entry['reason']} /> },
    { head: 'Waited', isNumber: true, show: (entry) => seconds(entry['queuedMs']) },
    { head: 'Slots', isNumber: true, show: (entry) => text(entry['slots']) },
    { head: 'Key', show: (entry) => <KeyName id={entry['keyId']} keys={keys} /> },
    { head: 'Holder', show: (entry) => <Cut value={entry['holder']} /> },
    {
      head: 'Details',
      show: (entry) => (
        <details>
          <summary>{text(entry['id'])}</summary>
          <pre>{JSON.stringify(entry, null, 2)}</pre>
        </details>
      ),
    },
  ];
}
