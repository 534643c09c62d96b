/**
 * A table of rows as JSON: one list of columns says heads and cells. On a narrow screen each row
 * becomes a card in which every cell tells its head, so nothing lies beyond the edge.
 */
import type { Child } from 'hono/jsx';
import { Action } from './layout.tsx';
import type { Json } from './shapes.ts';
import { text } from './shapes.ts';

export interface Column {
  readonly head: string;
  readonly isNumber?: boolean;
  /** Whether its cells name their rows. */
  readonly isName?: boolean;
  readonly show: (row: Json, index: number) => Child;
}

/** From here on the styles cut a text short. */
const LONG = 30;

export function Table(
  { label, columns, rows }: {
    label: string;
    columns: readonly Column[];
    rows: readonly Json[];
  },
) {
  return (
    <div
      class='scroll'
      tabindex={0}
      role='region'
      aria-label={label}
      hidden={rows.length === 0}
    >
      <table>
        <thead>
          <tr>
            {columns.map(({ head, isNumber }) => (
              <th key={head} scope='col' class={isNumber ? 'number' : undefined}>{head}</th>
            ))}
          </tr>
        </thead>
        <tbody data-rows={label}>
          {rows.map((row, index) => (
            <tr>
              {columns.map(({ head, isNumber, isName, show }) =>
                isName
                  ? <th key={head} scope='row' data-head={head}>{show(row, index)}</th>
                  : (
                    <td key={head} data-head={head} class={isNumber ? 'number' : undefined}>
                      {show(row, index)}
                    </td>
                  )
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Text of anybody's making: what is too long for a cell is told whole on hovering. */
export function Cut({ value }: { value: unknown }) {
  const whole = text(value);
  return <span class='cut' title={whole.length > LONG ? whole : undefined}>{whole}</span>;
}

/** The name of a key, by which people know it; of one that is gone, its id. */
export function KeyName({ id, keys }: { id: unknown; keys: readonly Json[] }) {
  const known = keys.find((key) => key['id'] === id);
  return <Cut value={known === undefined ? id : known['name']} />;
}

/** An action of a row that cannot be undone: it says what it does before it is done. */
export function RowAction(
  { to, label, of, effect, children }: {
    to: string;
    label: string;
    /** Which row it is, for those who hear the page. */
    of: string;
    effect: string;
    children: Child;
  },
) {
  return (
    <details class='ask'>
      <summary>
        {label}
        <span class='visually-hidden'>{of}</span>…
      </summary>
      <Action to={to} label={label} kind='secondary small'>
        <p>{effect}</p>
        {children}
      </Action>
    </details>
  );
}
