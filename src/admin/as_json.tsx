/**
 * The rules of a pool as JSON, on a view of its own: so it is never older than the forms.
 */
import { Action } from './layout.tsx';
import { PoolLayout, type PoolPage } from './pool.tsx';
import type { Json } from './shapes.ts';

export function JsonPage(
  { frame, spec, name }: { frame: PoolPage; spec: Json; name: 'access' | 'upstream' },
) {
  const act = `/admin/pools/${frame.view.name}/act/change`;
  return (
    <PoolLayout {...frame}>
      <JsonForm act={act} name={name} value={spec[name]} />
    </PoolLayout>
  );
}

function JsonForm({ act, name, value }: { act: string; name: string; value: unknown }) {
  return (
    <section aria-label='As JSON' class='card'>
      <h2>{name === 'access' ? 'Who may call, as JSON' : 'Where calls are forwarded, as JSON'}</h2>
      <Action to={act} label={`Save ${name}`}>
        <label>
          {name === 'access' ? 'Rules' : 'Upstream'}
          <textarea name={`${name}:json`} rows={20} spellcheck={false}>
            {JSON.stringify(value, null, 2)}
          </textarea>
          <small>
            Secrets are never shown. What is left out keeps its value; null resets it; a list is
            replaced as a whole.
          </small>
        </label>
      </Action>
      <p>
        <a href='?'>Back to the forms</a>
      </p>
    </section>
  );
}

export function AsJson({ tab, pool, what }: { tab: string; pool: string; what: string }) {
  return (
    <p>
      <a href={`/admin/pools/${pool}/${tab}?as=json`}>Edit {what} as JSON</a>
    </p>
  );
}
