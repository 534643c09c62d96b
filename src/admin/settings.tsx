/**
 * A pool's settings as forms with bounds and units, its rules as JSON, and its keys.
 */
import { Action, Empty, Time } from './layout.tsx';
import type { PoolPage } from './pool.tsx';
import { PoolLayout } from './pool.tsx';
import type { Json } from './shapes.ts';
import { at, text } from './shapes.ts';

interface Field {
  /** Dotted path in the pool, and how its text becomes JSON. */
  readonly name: string;
  readonly label: string;
  readonly about: string;
  readonly min?: number;
  readonly max?: number;
  readonly options?: readonly string[];
}

const ms = (label: string, name: string, bounds: [number, number], about: string): Field => ({
  label: `${label} (ms)`,
  name: `${name}:int`,
  min: bounds[0],
  max: bounds[1],
  about,
});

const SECTIONS: Readonly<Record<string, readonly Field[]>> = {
  Concurrency: [
    {
      name: 'concurrency.mode:text',
      label: 'Mode',
      options: ['fixed', 'adaptive'],
      about: 'fixed: the limit is the limit. adaptive: it moves between min and max.',
    },
    {
      name: 'concurrency.limit:int',
      label: 'Limit (slots)',
      min: 1,
      max: 1_000_000,
      about: 'Raising it serves waiters at once; lowering it revokes nothing, held slots drain.',
    },
    {
      name: 'concurrency.min:int',
      label: 'Min (slots)',
      min: 1,
      max: 1_000_000,
      about: 'Adaptive: never below.',
    },
    {
      name: 'concurrency.max:int',
      label: 'Max (slots)',
      min: 1,
      max: 1_000_000,
      about: 'Adaptive: never above.',
    },
  ],
  Queue: [
    {
      name: 'queue.maxDepth:int',
      label: 'Depth (waiters)',
      min: 0,
      max: 100_000,
      about: 'Who comes when it is full is refused at once; 0: nobody waits.',
    },
    ms('Longest wait', 'queue.timeoutMs', [0, 3_600_000], 'Longer wishes are cut to it.'),
  ],
  Lease: [
    ms('Term', 'lease.termMs', [1_000, 3_600_000], 'Without news for so long a slot comes back.'),
    ms('Renew every', 'lease.renewIntervalMs', [1, 3_600_000], 'Told to holders; below the term.'),
    ms('Request timeout', 'lease.requestTimeoutMs', [1_000, 86_400_000], 'No lease lasts longer.'),
  ],
  Rate: [
    {
      name: 'rate.rpm:int?',
      label: 'Starts a minute',
      min: 1,
      max: 10_000_000,
      about: 'In any rolling 60 s; empty: no rate of yours.',
    },
    {
      name: 'rate.tpm:int?',
      label: 'LLM tokens a minute',
      min: 1,
      max: 10_000_000_000,
      about: 'Empty: none.',
    },
    {
      name: 'rate.burst:int?',
      label: 'Starts at once',
      min: 1,
      max: 10_000_000,
      about: 'Of the starts a minute; empty: all of them.',
    },
    {
      name: 'rate.kind:text',
      label: 'What a 429 means',
      options: ['auto', 'concurrency', 'rate'],
      about: 'auto: it is found out.',
    },
    {
      name: 'rate.learn:bool',
      label: 'Learn rates',
      options: ['true', 'false'],
      about: 'Whether rates are learned from answers.',
    },
    ms('Longest pause', 'rate.maxPauseMs', [0, 86_400_000], 'That an upstream can cause.'),
  ],
  'Access log': [
    {
      name: 'log.retentionDays:int',
      label: 'Keep (days)',
      min: 1,
      max: 3_650,
      about: 'Older rows are deleted.',
    },
    {
      name: 'log.rowsMax:int',
      label: 'Keep (rows)',
      min: 0,
      max: 100_000_000,
      about: 'More rows are deleted, the oldest first.',
    },
  ],
};

export function SettingsPage({ frame, spec }: { frame: PoolPage; spec: Json }) {
  const act = `/admin/pools/${frame.view.name}/act/change`;
  return (
    <PoolLayout {...frame}>
      <p>A change applies at once; nothing restarts, and nobody who holds a slot loses it.</p>
      {Object.entries(SECTIONS).map(([title, fields]) => (
        <section aria-label={title} class='card'>
          <h2>{title}</h2>
          <Action to={act} label={`Save ${title.toLowerCase()}`}>
            <div class='grid fields'>
              {fields.map((field) => <Input key={field.name} field={field} spec={spec} />)}
            </div>
          </Action>
        </section>
      ))}
      <section aria-label='Upstream' class='card'>
        <h2>Upstream and credentials</h2>
        <JsonForm act={act} name='upstream' value={spec['upstream']} />
      </section>
    </PoolLayout>
  );
}

function Input({ field, spec }: { field: Field; spec: Json }) {
  const { name, label, about, min, max, options } = field;
  const value = at(spec, name.split(':')[0] ?? '');
  const id = name.replace(/\W/g, '-');
  const range = min === undefined ? '' : ` ${min} to ${max}.`;
  return (
    <label>
      {label}
      {options === undefined
        ? (
          <input
            type='number'
            name={name}
            min={min}
            max={max}
            value={value === null ? '' : String(value)}
            required={!name.endsWith('?')}
            aria-describedby={id}
          />
        )
        : (
          <select name={name} aria-describedby={id}>
            {options.map((option) => (
              <option value={option} selected={option === String(value)}>{option}</option>
            ))}
          </select>
        )}
      <small id={id}>{`${about}${range}`}</small>
    </label>
  );
}

function JsonForm({ act, name, value }: { act: string; name: string; value: unknown }) {
  return (
    <Action to={act} label={`Save ${name}`}>
      <label>
        {name === 'access' ? 'Who may call' : 'Where calls are forwarded'}, as JSON
        <textarea name={`${name}:json`} rows={name === 'access' ? 12 : 5} spellcheck={false}>
          {JSON.stringify(value, null, 2)}
        </textarea>
        <small>Secrets are never shown; one that is left out keeps its value.</small>
      </label>
    </Action>
  );
}

export function AccessPage(
  { frame, spec, keys }: { frame: PoolPage; spec: Json; keys: readonly Json[] },
) {
  const act = `/admin/pools/${frame.view.name}/act`;
  const noKeyMeans = frame.view.openTo === null ? ', so nobody can call' : '';
  return (
    <PoolLayout {...frame}>
      <section aria-labelledby='keys'>
        <h2 id='keys'>Keys</h2>
        {keys.length === 0
          ? <Empty>No key yet{noKeyMeans}. Make one, and give it to a caller.</Empty>
          : <KeyTable keys={keys} act={act} />}
        <Action to={`${act}/make-key`} label='Make a key'>
          <div class='grid'>
            <label>
              Name of the new key
              <input name='name:text' required maxlength={128} />
            </label>
            <label>
              Expires after (days)
              <input name='days' type='number' min='1' max='3650' placeholder='never' />
            </label>
          </div>
        </Action>
      </section>
      <section aria-label='Rules' class='card'>
        <h2>Rules</h2>
        <JsonForm act={`${act}/change`} name='access' value={spec['access']} />
      </section>
    </PoolLayout>
  );
}

function KeyTable({ keys, act }: { keys: readonly Json[]; act: string }) {
  return (
    <div class='scroll' tabindex={0} role='region' aria-label='Keys of the pool'>
      <table>
        <thead>
          <tr>
            {['Name', 'Begins with', 'Made', 'Expires', 'Last used', 'Do'].map((head) => (
              <th scope='col'>{head}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {keys.map((key) => (
            <tr>
              <th scope='row'>{text(key['name'])}</th>
              <td>
                <code>{text(key['prefix'])}</code>
              </td>
              {['createdAt', 'expiresAt', 'lastUsedAt'].map((name) => (
                <td>
                  <Time ms={key[name]} />
                </td>
              ))}
              <td>
                <Action to={`${act}/revoke-key`} label='Revoke' kind='secondary small'>
                  <input type='hidden' name='id' value={text(key['id'])} />
                </Action>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
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
