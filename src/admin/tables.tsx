/**
 * A pool's slots and its queue as tables, as they were when the page was loaded.
 */
import { Empty, Time } from './layout.tsx';
import type { PoolPage } from './pool.tsx';
import { PoolLayout } from './pool.tsx';
import type { Json } from './shapes.ts';
import { seconds, text } from './shapes.ts';
import type { Column } from './table.tsx';
import { Cut, KeyName, RowAction, Table } from './table.tsx';

const ROWS_SHOWN = 200;

export interface Rows {
  readonly frame: PoolPage;
  readonly rows: readonly Json[];
  /** The pool's keys, for their names. */
  readonly keys: readonly Json[];
}

function Shown({ of, atMs }: { of: readonly Json[]; atMs: number }) {
  return (
    <p class='as-of'>
      {of.length > ROWS_SHOWN ? `The oldest ${ROWS_SHOWN} of ${of.length} are shown. ` : ''}
      As of <Time ms={atMs} />. <a href=''>Look again</a>
    </p>
  );
}

function who(keys: readonly Json[]): Column[] {
  return [
    { head: 'Holder', show: (row) => <Cut value={row['holder']} /> },
    { head: 'Key', show: (row) => <KeyName id={row['keyId']} keys={keys} /> },
    { head: 'Slots', isNumber: true, show: (row) => text(row['slots']) },
  ];
}

export function SlotsPage({ frame, rows, keys, atMs }: Rows & { atMs: number }) {
  const columns: Column[] = [
    ...who(keys),
    { head: 'Age', isNumber: true, show: (slot) => seconds(slot['ageMs']) },
    { head: 'Renewals', isNumber: true, show: (slot) => text(slot['renewals']) },
    { head: 'Lease ends', show: (slot) => <Time ms={slot['leaseDeadline']} /> },
    { head: 'At the latest', show: (slot) => <Time ms={slot['requestDeadline']} /> },
    { head: 'Do', show: (slot) => <TakeBack slot={slot} pool={frame.view.name} /> },
  ];
  return (
    <PoolLayout {...frame}>
      <h2>Held slots</h2>
      {rows.length === 0
        ? (
          <Empty>
            Nobody holds a slot. The{' '}
            <a href={`/admin/pools/${frame.view.name}#examples`}>examples</a> show how to take one.
          </Empty>
        )
        : <Table label='Held slots' columns={columns} rows={rows.slice(0, ROWS_SHOWN)} />}
      <Shown of={rows} atMs={atMs} />
      {rows.length === 0 ? null : (
        <p class='effect'>
          A lease ends unless its holder renews it, and at the latest where no renewal helps any
          more. A forwarded request has no such instants: it ends with its answer.
        </p>
      )}
    </PoolLayout>
  );
}

function TakeBack({ slot, pool }: { slot: Json; pool: string }) {
  return (
    <RowAction
      to={`/admin/pools/${pool}/act/take-back`}
      label='Take back'
      of={` from ${text(slot['holder'])}`}
      effect={slot['kind'] === 'proxy'
        ? 'Its request is cut off, and whoever waits first gets the slot.'
        : 'Whoever waits first gets the slot. Its holder learns of it at the next renewal, and ' +
          'may work on until then.'}
    >
      <input type='hidden' name='ref' value={text(slot['ref'])} />
    </RowAction>
  );
}

export function QueuePage({ frame, rows, keys, atMs }: Rows & { atMs: number }) {
  const { view } = frame;
  const columns: Column[] = [
    { head: 'Place', isNumber: true, show: (_, index) => index + 1 },
    ...who(keys),
    { head: 'Waited', isNumber: true, show: (waiter) => seconds(waiter['waitedMs']) },
    { head: 'Waits until', show: (waiter) => <Time ms={waiter['until']} /> },
    {
      head: 'Behind',
      show: (_, index) =>
        index > 0
          ? `${index} before it`
          : `${view.inUse} of ${view.effectiveLimit} slots in use; ${view.reason}`,
    },
  ];
  return (
    <PoolLayout {...frame}>
      <h2>Queue</h2>
      {rows.length === 0
        ? (
          <Empty>
            Nobody waits. Who asks with a wait while no slot is free stands here, first come first
            served.
          </Empty>
        )
        : <Table label='Queue' columns={columns} rows={rows.slice(0, ROWS_SHOWN)} />}
      <Shown of={rows} atMs={atMs} />
    </PoolLayout>
  );
}
