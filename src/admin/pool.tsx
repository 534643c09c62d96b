/**
 * A pool's pages: the frame with its tabs, and the overview with charts, the reason why it holds
 * back, what its governor changed, and examples to copy.
 */
import type { Child } from 'hono/jsx';
import type { Place } from './examples.tsx';
import { Examples } from './examples.tsx';
import { Action, Empty, Layout, Time } from './layout.tsx';
import type { Json, Page, View } from './shapes.ts';
import { perMinute, seconds, text, waited } from './shapes.ts';
import type { Column } from './table.tsx';
import { Table } from './table.tsx';

export const TABS = ['overview', 'slots', 'queue', 'settings', 'access', 'log'] as const;
export type Tab = (typeof TABS)[number];

export interface PoolPage {
  readonly page: Page;
  readonly view: View;
  readonly tab: Tab;
  /** Whether the configuration file owns it, so that nothing here changes its settings. */
  readonly isManaged: boolean;
}

export function PoolLayout(
  { page, view, tab, isManaged, children }: PoolPage & { children?: Child },
) {
  const base = `/admin/pools/${view.name}`;
  return (
    <Layout page={page}>
      <h1>{view.name}</h1>
      {view.openTo === null ? null : (
        <p class='problem'>
          This pool wants no key: {view.openTo} who reaches this server may call it.
        </p>
      )}
      {isManaged && (tab === 'settings' || tab === 'access')
        ? (
          <p class='problem'>
            The configuration file owns this pool: its settings and keys are changed there, and no
            form of this page can.
          </p>
        )
        : null}
      <dl class='facts' data-live='pool' data-pool={view.name}>
        <div>
          <dt>State</dt>
          <dd data-field='state' class={`state ${view.state}`}>{view.state}</dd>
        </div>
        <div>
          <dt>In use / limit</dt>
          <dd>
            <span data-field='inUse'>{view.inUse}</span> /{' '}
            <span data-field='effectiveLimit'>{view.effectiveLimit}</span>
          </dd>
        </div>
        <div>
          <dt>Queued</dt>
          <dd data-field='queued'>{view.queued}</dd>
        </div>
        <div>
          <dt>Oldest waiter</dt>
          <dd data-field='oldestWaitMs'>{waited(view.oldestWaitMs)}</dd>
        </div>
        <div>
          <dt>Rate (starts a minute)</dt>
          <dd data-field='rpm'>{perMinute(view.rpm)}</dd>
        </div>
      </dl>
      <nav aria-label='Pool' class='tabs'>
        {TABS.map((name) => (
          <a
            href={name === 'overview' ? base : `${base}/${name}`}
            aria-current={name === tab ? 'page' : undefined}
          >
            {name}
          </a>
        ))}
      </nav>
      {children}
    </Layout>
  );
}

export function Overview(
  { frame, spec, changes, place }: {
    frame: PoolPage;
    spec: Json;
    changes: readonly Json[];
    place: Place;
  },
) {
  const { view } = frame;
  return (
    <PoolLayout {...frame}>
      <section aria-labelledby='why'>
        <h2 id='why'>Why it holds back</h2>
        <p class='why' data-live='reason' data-pool={view.name}>
          <strong data-field='reason'>{view.reason}</strong>
          <span data-field='pausedUntil'>
            {view.pausedUntil === null ? '' : (
              <>
                , until <Time ms={view.pausedUntil} />
              </>
            )}
          </span>: <span data-field='inUse'>{view.inUse}</span> of{' '}
          <span data-field='effectiveLimit'>{view.effectiveLimit}</span> slots in use,{' '}
          <span data-field='queued'>{view.queued}</span> waiting
        </p>
        <p class='effect'>
          A caller waits, or is refused, while the pool is paused, while its rate is used up, while
          others wait, and while all slots of the limit are in use.
        </p>
        <Changes changes={changes} />
      </section>
      <Charts name={view.name} />
      <Verbs view={view} />
      <Examples spec={spec} place={place} />
    </PoolLayout>
  );
}

function Charts({ name }: { name: string }) {
  return (
    <section aria-labelledby='charts' class='charts' data-charts={name}>
      <h2 id='charts'>Charts</h2>
      <label class='span'>
        Span{' '}
        <select data-span='' aria-label='Span of the charts'>
          <option value='5m'>5 minutes</option>
          <option value='1h'>1 hour</option>
          <option value='24h'>24 hours</option>
        </select>
      </label>
      <figure>
        <figcaption>Slots in use, the limit, and who waits (the most in each step)</figcaption>
        <div data-chart='slots'></div>
      </figure>
      <figure>
        <figcaption>
          <span>
            Grants and refusals in each <span data-step=''>5 s</span>
          </span>
        </figcaption>
        <div data-chart='starts'></div>
      </figure>
    </section>
  );
}

const CHANGES: readonly Column[] = [
  { head: 'When', show: (change) => <Time ms={change['at']} /> },
  { head: 'What', show: (change) => WHAT[text(change['what'])] ?? text(change['what']) },
  { head: 'From', isNumber: true, show: (change) => amount(change, 'from') },
  { head: 'To', isNumber: true, show: (change) => amount(change, 'to') },
  { head: 'Why', show: (change) => text(change['why']) },
  { head: 'Evidence', show: (change) => text(change['evidence']) },
];

const WHAT: Readonly<Record<string, string>> = {
  limit: 'limit (slots)',
  rpm: 'starts a minute',
  tpm: 'tokens a minute',
  headers: "the upstream's headers",
};

function amount(change: Json, name: 'from' | 'to'): string {
  const value = change[name];
  if (change['what'] === 'headers') return value === 1 ? 'believed' : 'not believed';
  if (change['what'] !== 'pause') return text(value);
  if (typeof value !== 'number') return 'no known end';
  return value === 0 ? 'none' : seconds(value);
}

function Changes({ changes }: { changes: readonly Json[] }) {
  if (changes.length === 0) {
    return (
      <Empty>
        Nothing has changed yet. An operator pauses a pool and sets its limit and rates; the
        governor pauses it too, sets its pace and, in adaptive mode, moves its limit by what callers
        report.
      </Empty>
    );
  }
  return (
    <details>
      <summary>
        What changed ({changes.length}), the last: <Time ms={changes[0]?.['at']} />,{' '}
        {text(changes[0]?.['why'])}
      </summary>
      <Table label='Changes of the governor' columns={CHANGES} rows={changes} />
    </details>
  );
}

function Verbs({ view }: { view: View }) {
  const act = `/admin/pools/${view.name}/act`;
  const typed = (
    <label>
      Type the pool’s name to confirm
      <input name='confirm' required autocomplete='off' spellcheck={false} />
    </label>
  );
  return (
    <section aria-labelledby='verbs' class='verbs' data-pool={view.name}>
      <h2 id='verbs'>Hold, empty, delete</h2>
      <div data-while='paused' hidden={view.state !== 'paused'}>
        <Action to={`${act}/resume`} label='Resume'>
          <p class='effect'>Ends the pause, whoever caused it; who waits is served in turn.</p>
        </Action>
      </div>
      <Action to={`${act}/pause`} label='Pause' kind='secondary'>
        <p class='effect'>
          Nobody is granted a slot until the time is over or somebody resumes the pool. Held slots
          stay held, and who waits goes on waiting.
        </p>
        <label>
          For so many minutes (or left empty: until it is resumed)
          <input name='minutes' type='number' min='1' max='525600' />
        </label>
        <label>
          Reason, shown to whoever looks (or left empty)
          <input name='reason:text?' maxlength={128} />
        </label>
      </Action>
      <Action to={`${act}/forget`} label='Forget what was learned' kind='secondary'>
        <p class='effect'>
          Rates, pauses and limits that the upstream’s answers taught go; your settings stay.
        </p>
      </Action>
      <details>
        <summary>Drain: grant nothing more, and let what is held end</summary>
        <Action to={`${act}/drain`} label='Drain' kind='contrast'>
          <p class='effect'>The pool then stays paused until somebody resumes it.</p>
          {typed}
        </Action>
      </details>
      <details>
        <summary>Delete the pool, its keys and what it learned</summary>
        <Action to={`${act}/delete`} label='Delete' kind='danger'>
          <p class='effect'>
            It cannot be undone. Who waits is refused, and no slot of it can be renewed any more.
          </p>
          {typed}
        </Action>
      </details>
    </section>
  );
}
