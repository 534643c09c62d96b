/**
 * A pool's keys: the table of them, the form that makes one, and a fresh key, told once.
 */
import { Action, Empty, Time } from './layout.tsx';
import type { Json } from './shapes.ts';
import { text } from './shapes.ts';

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
            <input name='name:text' required maxlength={128} />
          </label>
          <label>
            Expires after (days)
            <input name='days' type='number' min='1' max='3650' placeholder='never' />
          </label>
        </div>
      </Action>
    </section>
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
