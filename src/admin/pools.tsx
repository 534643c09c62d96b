/**
 * The list of pools, and the form that makes one.
 */
import { Action, Empty, Layout, Sparkline } from './layout.tsx';
import type { Page, View } from './shapes.ts';
import { perMinute, waited } from './shapes.ts';

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

/** A pool that is made later comes into the list by itself where it shows all that are found. */
export function PoolsPage({ page, rows, search, found, total }: PoolList) {
  return (
    <Layout page={page}>
      <h1>Pools</h1>
      {total === 0 ? null : <Search text={search} />}
      <div data-live='pools' data-search={found > rows.length ? undefined : search}>
        {total === 0
          ? (
            <Empty>
              No pool yet. Make one below: a name and how many calls may run at once is all it
              takes.
            </Empty>
          )
          : (
            <p>
              {found > rows.length
                ? `${rows.length} of ${found} pools are shown; search for the others.`
                : `${found} of ${total} pools.`} <a href='#new-pool'>Make another one</a>
            </p>
          )}
        {found > 0 ? <PoolTable rows={rows} /> : null}
        {total > 0 && found === 0
          ? (
            <Empty>
              No pool has “{search}” in its name. <a href='/admin'>Show all</a>
            </Empty>
          )
          : null}
      </div>
      <NewPool />
    </Layout>
  );
}

function Search({ text }: { text: string }) {
  return (
    <form method='get' action='/admin' role='search' class='search'>
      <input
        type='search'
        name='search'
        value={text}
        placeholder='part of a name'
        aria-label='Find pools'
      />
      <button type='submit' class='secondary'>Find</button>
    </form>
  );
}

function NewPool() {
  return (
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
            <small id='name-help'>
              What callers name it by: a-z, 0-9 and inner hyphens, at most 63.
            </small>
          </label>
          <label>
            Slots
            <input
              name='concurrency.limit:int'
              type='number'
              min='1'
              max='1000000'
              value='10'
              required
              aria-describedby='slots-help'
            />
            <small id='slots-help'>
              Calls that may run at once, 1 to 1 000 000; all else has defaults, and can be changed
              later.
            </small>
          </label>
        </div>
      </Action>
    </section>
  );
}

function PoolTable({ rows }: { rows: readonly PoolRow[] }) {
  return (
    <div class='scroll' tabindex={0} role='region' aria-label='Pools'>
      <table>
        <thead>
          <tr>
            <th scope='col'>Pool</th>
            <th scope='col'>State</th>
            <th scope='col' class='number'>In use / limit</th>
            <th scope='col' class='number'>Queued</th>
            <th scope='col' class='number'>Oldest waiter</th>
            <th scope='col' class='number'>Rate (starts a minute)</th>
            <th scope='col'>Last 5 min</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr data-pool={row.name}>
              <th scope='row' class='name'>
                <a href={`/admin/pools/${row.name}`}>{row.name}</a>
              </th>
              <td data-field='state' class={`state ${row.state}`}>{row.state}</td>
              <td class='number' data-head='In use / limit'>
                <span data-field='inUse'>{row.inUse}</span> /{' '}
                <span data-field='effectiveLimit'>{row.effectiveLimit}</span>
              </td>
              <td data-field='queued' class='number' data-head='Queued'>{row.queued}</td>
              <td data-field='oldestWaitMs' class='number' data-head='Oldest waiter'>
                {waited(row.oldestWaitMs)}
              </td>
              <td data-field='rpm' class='number' data-head='Rate (starts a minute)'>
                {perMinute(row.rpm)}
              </td>
              <td class='recent'>
                <Sparkline values={row.recent} max={row.effectiveLimit} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
