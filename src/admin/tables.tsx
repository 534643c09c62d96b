/**
 * A pool's slots, its queue, and its access log as tables.
 */
import { Action, Empty, Time } from './layout.tsx';
import type { PoolPage } from './pool.tsx';
import { PoolLayout } from './pool.tsx';
import type { Json } from './shapes.ts';
import { seconds, text } from './shapes.ts';

const ROWS_SHOWN = 200;

interface Rows {
  readonly frame: PoolPage;
  readonly rows: readonly Json[];
}

function Shown({ of }: { of: readonly Json[] }) {
  if (of.length <= ROWS_SHOWN) return null;
  return <p>{`The oldest ${ROWS_SHOWN} of ${of.length} are shown.`}</p>;
}

function Table({ label, heads, children }: { label: string; heads: string[]; children: unknown }) {
  return (
    <div class='scroll' tabindex={0} role='region' aria-label={label}>
      <table>
        <thead>
          <tr>{heads.map((head) => <th key={head} scope='col'>{head}</th>)}</tr>
        </thead>
        <tbody data-rows={label}>{children}</tbody>
      </table>
    </div>
  );
}

export function SlotsPage({ frame, rows }: Rows) {
  const act = `/admin/pools/${frame.view.name}/act/take-back`;
  const heads = ['Holder', 'Key', 'Slots', 'Age', 'Renewals', 'Lease ends', 'At the latest', 'Do'];
  return (
    <PoolLayout {...frame}>
      <h2>Held slots</h2>
      {rows.length === 0
        ? <Empty>Nobody holds a slot. The examples on the overview show how to take one.</Empty>
        : (
          <Table label='Held slots' heads={heads}>
            {rows.slice(0, ROWS_SHOWN).map((slot) => (
              <tr>
                <td>{text(slot['holder'])}</td>
                <td>{text(slot['keyId'])}</td>
                <td class='number'>{text(slot['slots'])}</td>
                <td class='number'>{seconds(slot['ageMs'])}</td>
                <td class='number'>{text(slot['renewals'])}</td>
                <td>
                  <Time ms={slot['leaseDeadline']} />
                </td>
                <td>
                  <Time ms={slot['requestDeadline']} />
                </td>
                <td>
                  <Action to={act} label='Take back' kind='secondary small'>
                    <input type='hidden' name='ref' value={text(slot['ref'])} />
                  </Action>
                </td>
              </tr>
            ))}
          </Table>
        )}
      <Shown of={rows} />
    </PoolLayout>
  );
}

export function QueuePage({ frame, rows }: Rows) {
  const { view } = frame;
  const heads = ['Place', 'Holder', 'Key', 'Slots', 'Waited', 'Waits until', 'Behind'];
  return (
    <PoolLayout {...frame}>
      <h2>Queue</h2>
      {rows.length === 0
        ? <Empty>Nobody waits: every acquire is answered at once.</Empty>
        : (
          <Table label='Queue' heads={heads}>
            {rows.slice(0, ROWS_SHOWN).map((waiter, index) => (
              <tr>
                <td class='number'>{index + 1}</td>
                <td>{text(waiter['holder'])}</td>
                <td>{text(waiter['keyId'])}</td>
                <td class='number'>{text(waiter['slots'])}</td>
                <td class='number'>{seconds(waiter['waitedMs'])}</td>
                <td>
                  <Time ms={waiter['until']} />
                </td>
                <td>
                  {index > 0
                    ? `${index} before it`
                    : `${view.inUse} of ${view.effectiveLimit} slots in use; ${view.reason}`}
                </td>
              </tr>
            ))}
          </Table>
        )}
      <Shown of={rows} />
    </PoolLayout>
  );
}

export interface LogFilter {
  readonly outcome: string;
  readonly keyId: string;
  readonly minutes: string;
}

export function LogPage(
  { frame, rows, filter, next }: Rows & { filter: LogFilter; next: string | null },
) {
  const base = `/admin/pools/${frame.view.name}/log`;
  const query = new URLSearchParams({ ...filter }).toString();
  const heads = ['When', 'Outcome', 'Reason', 'Waited', 'Slots', 'Key', 'Holder', 'Details'];
  return (
    <PoolLayout {...frame}>
      <h2>Access log</h2>
      <form method='get' action={base} class='filters'>
        <label>
          Outcome
          <input name='outcome' value={filter.outcome} placeholder='granted, too_many_requests …' />
        </label>
        <label>
          Key id
          <input name='keyId' maxlength={64} value={filter.keyId} />
        </label>
        <label>
          Last minutes
          <input name='minutes' type='number' min='1' max='525600' value={filter.minutes} />
        </label>
        <button type='submit' class='secondary'>Filter</button>
      </form>
      <p class='row'>
        <label>
          <input type='checkbox' role='switch' data-follow={frame.view.name} /> Follow
        </label>
        <small>The newest 80 rows a second at the most.</small>
        <a href={`${base}/export.csv?${query}`} download=''>CSV</a>
        <a href={`${base}/export.jsonl?${query}`} download=''>JSON lines</a>
      </p>
      {rows.length === 0
        ? <Empty>No attempt matches. Each acquire leaves a row here, granted or refused.</Empty>
        : null}
      <Table label='Access log' heads={heads}>
        {rows.map((entry) => (
          <tr>
            <td>
              <Time ms={entry['at']} />
            </td>
            <td>{text(entry['outcome'])}</td>
            <td>{text(entry['reason'])}</td>
            <td class='number'>{seconds(entry['queuedMs'])}</td>
            <td class='number'>{text(entry['slots'])}</td>
            <td>{text(entry['keyId'])}</td>
            <td>{text(entry['holder'])}</td>
            <td>
              <details>
                <summary>{text(entry['id'])}</summary>
                <pre>{JSON.stringify(entry, null, 2)}</pre>
              </details>
            </td>
          </tr>
        ))}
      </Table>
      {next === null ? null : <a href={`${base}?${query}&cursor=${next}`}>Older</a>}
    </PoolLayout>
  );
}
