/**
 * The list of pools, and the form that makes one.
 */
import { Action, Empty, Layout, Sparkline } from './layout.tsx';
import type { Page, View } from './shapes.ts';
import { seconds } from './shapes.ts';

export interface PoolRow extends View {
  readonly recent: readonly number[];
}

export interface PoolList {
  readonly page: Page;
  readonly rows: readonly PoolRow[];
  readonly search: string;
  /** Pools that the search finds, and pools that there are. */
  readonly found: number;
  readonly total: number;
}

export function PoolsPage({ page, rows, search, found, total }: PoolList) {
  return (
    <Layout page={page}>
      <h1>Pools</h1>
      {total === 0
        ? (
          <Empty>
            No pool yet. Make one below: a name and how many calls may run at once is all it takes.
          </Empty>
        )
        : (
          <>
            <form method='get' action='/admin' role='search' class='search'>
              <input
                type='search'
                name='search'
                value={search}
                placeholder='part of a name'
                aria-label='Find pools'
              />
              <button type='submit' class='secondary'>Find</button>
            </form>
            <p>
              {found > rows.length
                ? `${rows.length} of ${found} pools are shown; search for the others.`
                : `${found} of ${total} pools.`}
            </p>
            <PoolTable rows={rows} />
          </>
        )}
      <section aria-labelledby='new-pool'>
        <h2 id='new-pool'>New pool</h2>
        <Action to='/admin/pools' label='Make the pool'>
          <div class='grid'>
            <label>
              Name
              <input
                name='name:text'
                required
                maxlength={63}
                pattern='[a-z0-9]([a-z0-9\-]*[a-z0-9])?'
                aria-describedby='name-help'
              />
              <small id='name-help'>a-z, 0-9 and inner hyphens</small>
            </label>
            <label>
              Slots
              <input
                name='concurrency.limit:int'
                type='number'
                min='1'
                max='1000000'
                value='10'
                aria-describedby='slots-help'
              />
              <small id='slots-help'>calls that may run at once</small>
            </label>
          </div>
        </Action>
      </section>
    </Layout>
  );
}

function PoolTable({ rows }: { rows: readonly PoolRow[] }) {
  return (
    <div class='scroll' tabindex={0} role='region' aria-label='Pools'>
      <table class='pools' data-live='pools'>
        <thead>
          <tr>
            <th scope='col'>Pool</th>
            <th scope='col'>State</th>
            <th scope='col' class='number'>In use / limit</th>
            <th scope='col' class='number'>Queued</th>
            <th scope='col' class='number'>Oldest waiter</th>
            <th scope='col' class='number'>Starts a minute</th>
            <th scope='col'>Last 5 min</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr data-pool={row.name}>
              <th scope='row'>
                <a href={`/admin/pools/${row.name}`}>{row.name}</a>
              </th>
              <td data-field='state' class={`state ${row.state}`}>{row.state}</td>
              <td class='number'>
                <span data-field='inUse'>{row.inUse}</span> /{' '}
                <span data-field='effectiveLimit'>{row.effectiveLimit}</span>
              </td>
              <td data-field='queued' class='number'>{row.queued}</td>
              <td data-field='oldestWaitMs' class='number'>{seconds(row.oldestWaitMs)}</td>
              <td data-field='rpm' class='number'>
                {row.rpm === null ? '–' : Math.round(row.rpm)}
              </td>
              <td>
                <Sparkline values={row.recent} max={row.effectiveLimit} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
