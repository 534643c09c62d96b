/**
 * A pool's pages: the frame with its tabs, and the overview with charts, the reason why it holds
 * back, what its governor changed, and examples to copy.
 */
import type { Child } from 'hono/jsx';
import { Action, Empty, Layout, Time } from './layout.tsx';
import type { Json, Page, View } from './shapes.ts';
import { seconds, text } from './shapes.ts';

export const TABS = ['overview', 'slots', 'queue', 'settings', 'access', 'log'] as const;
export type Tab = (typeof TABS)[number];

export interface PoolPage {
  readonly page: Page;
  readonly view: View;
  readonly tab: Tab;
}

export function PoolLayout({ page, view, tab, children }: PoolPage & { children?: Child }) {
  const base = `/admin/pools/${view.name}`;
  return (
    <Layout page={page}>
      <h1>{view.name}</h1>
      {view.openTo === null ? null : (
        <p class='problem'>
          This pool wants no key: {view.openTo} who reaches this server may call it.
        </p>
      )}
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
          <dd data-field='oldestWaitMs'>{seconds(view.oldestWaitMs)}</dd>
        </div>
        <div>
          <dt>Starts a minute</dt>
          <dd data-field='rpm'>{view.rpm === null ? '–' : Math.round(view.rpm)}</dd>
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
  { frame, changes, origin }: { frame: PoolPage; changes: readonly Json[]; origin: string },
) {
  const { view } = frame;
  return (
    <PoolLayout {...frame}>
      <section aria-labelledby='why'>
        <h2 id='why'>Why it holds back</h2>
        <p data-live='reason' data-pool={view.name}>
          <strong data-field='reason'>{view.reason}</strong>:{' '}
          <span data-field='inUse'>{view.inUse}</span> of{' '}
          <span data-field='effectiveLimit'>{view.effectiveLimit}</span> slots in use,{' '}
          <span data-field='queued'>{view.queued}</span> waiting
        </p>
        <Changes changes={changes} />
      </section>
      <section aria-labelledby='charts' class='charts' data-charts={view.name}>
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
          <figcaption>Slots in use, the limit, and who waits</figcaption>
          <div data-chart='slots'></div>
        </figure>
        <figure>
          <figcaption>Grants and refusals a step</figcaption>
          <div data-chart='starts'></div>
        </figure>
      </section>
      <Verbs view={view} />
      <Examples name={view.name} origin={origin} />
    </PoolLayout>
  );
}

function Changes({ changes }: { changes: readonly Json[] }) {
  if (changes.length === 0) return <Empty>Its governor has changed nothing yet.</Empty>;
  return (
    <details>
      <summary>What its governor changed ({changes.length})</summary>
      <ul>
        {changes.map((change) => (
          <li>
            <Time ms={change['at']} />:{' '}
            {`${text(change['what'])} ${text(change['from'])} → ${text(change['to'])}`},{' '}
            {text(change['why'])}
            {change['evidence'] ? ` (${text(change['evidence'])})` : ''}
          </li>
        ))}
      </ul>
    </details>
  );
}

function Verbs({ view }: { view: View }) {
  const act = `/admin/pools/${view.name}/act`;
  const typed = (
    <label>
      Type the pool's name to confirm
      <input name='confirm' required autocomplete='off' />
    </label>
  );
  return (
    <section aria-labelledby='verbs' class='verbs'>
      <h2 id='verbs'>Hold, empty, delete</h2>
      {view.state === 'paused' ? <Action to={`${act}/resume`} label='Resume' /> : null}
      <Action to={`${act}/pause`} label='Pause' kind='secondary'>
        <label>
          Reason, shown to whoever looks
          <input name='reason:text' maxlength={128} />
        </label>
      </Action>
      <Action to={`${act}/forget`} label='Forget what was learned' kind='secondary' />
      <details>
        <summary>Drain: grant nothing more, and let what is held end</summary>
        <Action to={`${act}/drain`} label='Drain' kind='contrast'>{typed}</Action>
      </details>
      <details>
        <summary>Delete the pool, its keys and what it learned</summary>
        <Action to={`${act}/delete`} label='Delete' kind='danger'>{typed}</Action>
      </details>
    </section>
  );
}

function Examples({ name, origin }: { name: string; origin: string }) {
  const { protocol, host } = new URL(origin);
  const samples = { curl: curlOf(name, origin), TypeScript: scriptOf(name, origin) };
  const proxied = `${protocol}//${name}.${host.replace(/^(127\.0\.0\.1|\[::1\])/, 'localhost')}`;
  return (
    <section aria-labelledby='examples'>
      <h2 id='examples'>Examples</h2>
      <p>
        With a key in <code>NTHBOUNCER_KEY</code>:{' '}
        <a href={`/admin/pools/${name}/access`}>make one</a>.
      </p>
      {Object.entries({ ...samples, Python: pythonOf(name, origin) }).map(([language, code]) => (
        <figure>
          <figcaption>
            {language}{' '}
            <button type='button' class='secondary copy' data-copy={`code-${language}`}>
              Copy<span class='visually-hidden'>the {language} example</span>
            </button>
          </figcaption>
          <pre
            tabindex={0}
            role='region'
            aria-label={`${language} example`}
          ><code id={`code-${language}`}>{code}</code></pre>
        </figure>
      ))}
      <p>
        Base URL for proxied calls (with an upstream set): <code>{proxied}</code>
      </p>
    </section>
  );
}

function curlOf(name: string, origin: string): string {
  return `LOCK=${origin}/pools/${name}/lock
curl -s -X POST $LOCK/acquire -H "X-Nthpool-Key: $NTHBOUNCER_KEY" -d '{"waitMs": 5000}'
SLOT=…   # slotId of the answer
curl -s -X POST $LOCK/$SLOT/renew -H "X-Nthpool-Key: $NTHBOUNCER_KEY"
curl -s -X POST $LOCK/$SLOT/release -H "X-Nthpool-Key: $NTHBOUNCER_KEY" -d '{"status": 200}'`;
}

function scriptOf(name: string, origin: string): string {
  return `const lock = '${origin}/pools/${name}/lock';
const headers = { 'X-Nthpool-Key': process.env.NTHBOUNCER_KEY };
const post = (path, body) =>
  fetch(\`\${lock}/\${path}\`, { method: 'POST', headers, body: JSON.stringify(body) });

const { slotId, renewIntervalMs } = await (await post('acquire', { waitMs: 5000 })).json();
const renewing = setInterval(() => post(\`\${slotId}/renew\`, {}), renewIntervalMs);
try {
  // call the upstream here
} finally {
  clearInterval(renewing);
  await post(\`\${slotId}/release\`, { status: 200 });
}`;
}

function pythonOf(name: string, origin: string): string {
  return `import json, os, urllib.request

def post(path, body):
    request = urllib.request.Request(
        "${origin}/pools/${name}/lock/" + path,
        json.dumps(body).encode(), {"X-Nthpool-Key": os.environ["NTHBOUNCER_KEY"]})
    return json.load(urllib.request.urlopen(request))

slot = post("acquire", {"waitMs": 5000})["slotId"]
try:
    post(slot + "/renew", {})  # every renewIntervalMs while the work goes on
finally:
    post(slot + "/release", {"status": 200})`;
}
