/**
 * The rules of a pool as JSON, on a view of its own: so it is never older than the forms.
 */
import type { Change, Shown } from './change_form.tsx';
import { ChangeForm } from './change_form.tsx';
import { PoolLayout, type PoolPage } from './pool.tsx';

type Part = 'access' | 'upstream';

const TITLES: Readonly<Record<Part, string>> = {
  access: 'Who may call, as JSON',
  upstream: 'Where calls are forwarded, as JSON',
};

export const AS_JSON = {
  'access-json': jsonOf('access', 'Rules'),
  'upstream-json': jsonOf('upstream', 'Upstream'),
};

function jsonOf(part: Part, label: string): Change {
  return {
    path: part,
    label: `Save ${part}`,
    draw: ({ spec }) => (
      <label>
        {label}
        <textarea name={`${part}:json`} rows={20} spellcheck={false}>
          {JSON.stringify(spec[part], null, 2)}
        </textarea>
        <small>
          Secrets are never shown. What is left out keeps its value; null resets it; a list is
          replaced as a whole.
        </small>
      </label>
    ),
  };
}

export function JsonPage({ frame, shown, part }: { frame: PoolPage; shown: Shown; part: Part }) {
  const name = `${part}-json` as const;
  return (
    <PoolLayout {...frame}>
      <section aria-label='As JSON' class='card'>
        <h2>{TITLES[part]}</h2>
        <ChangeForm name={name} change={AS_JSON[name]} shown={shown} />
        <p>
          <a href='?'>Back to the forms</a>
        </p>
      </section>
    </PoolLayout>
  );
}

export function AsJson({ tab, pool, what }: { tab: string; pool: string; what: string }) {
  return (
    <p>
      <a href={`/admin/pools/${pool}/${tab}?as=json`}>Edit {what} as JSON</a>
    </p>
  );
}
