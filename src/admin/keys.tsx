/**
 * A pool's keys: the table of them, the form that makes one, and a fresh key, told once.
 */
import { Action, Empty, Time } from './layout.tsx';
import type { Json } from './shapes.ts';
import { text } from './shapes.ts';
import type { Column } from './table.tsx';
import { Cut, RowAction, Table } from './table.tsx';

export function Keys(
  { keys, act, isOpen }: { keys: readonly Json[]; act: string; isOpen: boolean },
) {
  const noKeyMeans = isOpen ? '' : ', so nobody can call';
  return (
    <section aria-labelledby='keys'>
      <h2 id='keys'>Keys</h2>
      {keys.length === 0
        ? <Empty>No key yet{noKeyMeans}. Make one, and give it to a caller.</Empty>
        : <KeyTable keys={keys} act={act} />}
      <Action to={`${act}/make-key`} label='Make a key'>
        <div class='grid'>
          <label>
            Name of the new key
            <input name='name:text' required maxlength={128} aria-describedby='key-name-help' />
            <small id='key-name-help'>Who will use it; shown beside slots and in the log.</small>
          </label>
          <label>
            Expires after (days)
            <input
              name='days'
              type='number'
              min='1'
              max='3650'
              placeholder='never'
              aria-describedby='days-help'
            />
            <small id='days-help'>1 to 3650; left empty, it never expires.</small>
          </label>
        </div>
      </Action>
    </section>
  );
}

const EFFECT = 'For good: calls and renewals with it are refused from now on, so that what it ' +
  'holds lapses.';

function KeyTable({ keys, act }: { keys: readonly Json[]; act: string }) {
  const columns: Column[] = [
    { head: 'Name', isName: true, show: (key) => <Cut value={key['name']} /> },
    { head: 'Begins with', show: (key) => <code>{text(key['prefix'])}</code> },
    { head: 'Made', show: (key) => <Time ms={key['createdAt']} /> },
    {
      head: 'Expires',
      show: (key) => {
        if (key['expiresAt'] === null) return 'never';
        const expires = <Time ms={key['expiresAt']} />;
        return key['isExpired'] ? <span class='problem'>expired, {expires}</span> : expires;
      },
    },
    {
      head: 'Last used',
      show: (key) => key['lastUsedAt'] === null ? 'never' : <Time ms={key['lastUsedAt']} />,
    },
    {
      head: 'Do',
      show: (key) => (
        <RowAction
          to={`${act}/revoke-key`}
          label='Revoke'
          of={` ${text(key['name'])}`}
          effect={EFFECT}
        >
          <input type='hidden' name='id' value={text(key['id'])} />
        </RowAction>
      ),
    },
  ];
  return <Table label='Keys of the pool' columns={columns} rows={keys} />;
}

/** A fresh key, told once. */
export function FreshKey({ value }: { value: string }) {
  return (
    <span class='fresh'>
      Copy it now, it is not shown again: <code id='fresh-key'>{value}</code>{' '}
      <button type='button' class='secondary small' data-copy='fresh-key'>Copy</button>{' '}
      <a href=''>Done</a>
    </span>
  );
}
