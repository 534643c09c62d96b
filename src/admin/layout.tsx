/**
 * The frame of every page, and the small pieces that pages share. Text goes in as JSX children
 * alone, so that it is escaped.
 */
import type { Child } from 'hono/jsx';
import type { Issue } from '../errors.ts';
import type { Page } from './shapes.ts';
import { utc } from './shapes.ts';

const HTMX_CONFIG = '{"history":false,"defaultTimeout":30000}';

export function Layout({ page, children }: { page: Page; children?: Child }) {
  return (
    <html lang='en'>
      <head>
        <meta charset='utf-8' />
        <meta name='viewport' content='width=device-width, initial-scale=1' />
        <meta name='color-scheme' content='light dark' />
        <meta name='htmx-config' content={HTMX_CONFIG} />
        <meta name='write-token' content={page.writeToken} />
        <title>{`${page.title} · nthbouncer`}</title>
        <link rel='icon' href='data:,' />
        <link rel='stylesheet' href='/admin/assets/pico.css' />
        <link rel='stylesheet' href='/admin/assets/uplot.css' />
        <link rel='stylesheet' href='/admin/assets/admin.css' />
        <script src='/admin/assets/htmx.js' defer></script>
        <script src='/admin/assets/uplot.js' defer></script>
        <script src='/admin/assets/admin.js' defer></script>
        <script src='/admin/assets/forms.js' defer></script>
        <script src='/admin/assets/charts.js' defer></script>
      </head>
      <body>
        <a class='skip' href='#main'>Skip to the content</a>
        <header class='container-fluid bar'>
          <a href='/admin' class='brand'>nthbouncer</a>
          {page.writeToken === '' ? null : (
            <nav aria-label='Site'>
              <a href='/admin'>Pools</a>
              <a href='/docs'>API</a>
              <button type='button' class='link' hx-post='/admin/sign-out'>Sign out</button>
            </nav>
          )}
        </header>
        {page.writeToken === '' ? null : (
          <noscript>
            <p class='container-fluid problem'>
              JavaScript is switched off: this page shows what is, and changes nothing.
            </p>
          </noscript>
        )}
        <p id='stale' class='container-fluid problem' role='status'></p>
        <main id='main' class='container-fluid' tabindex={-1}>{children}</main>
        <div id='live' class='visually-hidden' role='status'></div>
      </body>
    </html>
  );
}

export function SignIn({ problem }: { problem: string | null }) {
  return (
    <Layout page={{ title: 'Sign in', writeToken: '' }}>
      <article class='narrow'>
        <h1>Sign in</h1>
        <p>
          With the admin token: it was shown at the first start, or is in the file{' '}
          <code>admin-token</code> beside the database.
        </p>
        <form method='post'>
          <label>
            Admin token
            <input
              type='password'
              name='token'
              required
              autofocus
              autocomplete='current-password'
              aria-invalid={problem === null ? undefined : 'true'}
            />
          </label>
          {problem === null ? null : <p role='alert' class='problem'>{problem}</p>}
          <button type='submit'>Sign in</button>
        </form>
      </article>
    </Layout>
  );
}

/** What stands in the place of a page that cannot be shown. */
export function FaultPage({ page, message }: { page: Page; message: string }) {
  return (
    <Layout page={page}>
      <h1>{page.title}</h1>
      <p>
        {message} <a href='/admin'>All pools</a>
      </p>
    </Layout>
  );
}

/** What an action that failed shows in its form; the browser marks the fields of the issues. */
export function Problem(
  { message, issues = [] }: { message: string; issues?: readonly Issue[] },
) {
  return <span role='alert' class='problem' data-issues={JSON.stringify(issues)}>{message}</span>;
}

/** In place of a form's answer; the browser takes up the new session at its next focus. */
export function SignedOut() {
  return (
    <span role='alert' class='problem' data-signed-out=''>
      You are signed out, so nothing was done. <a href='/admin/sign-in' target='_blank'>Sign in</a>
      {' '}
      in another tab, and come back: what you typed is kept.
    </span>
  );
}

export function Time({ ms }: { ms: unknown }) {
  if (typeof ms !== 'number') return <>–</>;
  return <time datetime={new Date(ms).toISOString()}>{utc(ms)}</time>;
}

/** A form whose answer is shown beside its button; until it is there, nothing more is sent. */
export function Action(
  { to, label, kind = '', told = '', children }: {
    to: string;
    label: string;
    kind?: string;
    /** What stands where the answer will. */
    told?: string;
    children?: Child;
  },
) {
  return (
    <form
      method='post'
      action={to}
      hx-post={to}
      hx-target='find .told'
      hx-sync='drop'
      class='action'
    >
      <div class='shown'>{children}</div>
      <div class='row'>
        <button type='submit' class={kind}>{label}</button>
        <output class='told' aria-live='polite'>{told}</output>
      </div>
    </form>
  );
}

export function Sparkline({ values, max }: { values: readonly number[]; max: number }) {
  const top = Math.max(1, max, ...values);
  const points = values.map((value, index) =>
    `${Math.round(index / Math.max(1, values.length - 1) * 100)},${
      Math.round(22 - value / top * 20)
    }`
  );
  return (
    <svg class='spark' viewBox='0 0 100 24' preserveAspectRatio='none' aria-hidden='true'>
      <polyline points={points.join(' ')} />
    </svg>
  );
}

export function Empty({ children }: { children?: Child }) {
  return <p class='empty'>{children}</p>;
}
