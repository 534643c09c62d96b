/**
 * The fields of the page's forms: each a row that names where its text goes in the pool, how the
 * text becomes JSON (src/http/form.ts), and within which bounds; and how such a row is drawn.
 */
import type { Json } from './shapes.ts';
import { at } from './shapes.ts';

export interface Field {
  /** Dotted path in the pool, and how its text becomes JSON. */
  readonly name: string;
  readonly label: string;
  /** The path of what is shown, where it is not the name's. */
  readonly shows?: string;
  readonly about: string;
  readonly min?: number;
  readonly max?: number;
  /** What the bounds are counted in, where people know a better unit. */
  readonly unit?: 'ms' | 'bytes';
  /** Choices of one value, or with `checks` of several; a pair is a value and what is shown. */
  readonly options?: readonly (string | readonly [value: string, shown: string])[];
  readonly input?: 'number' | 'text' | 'secret' | 'lines' | 'checks';
  /** What is shown where the pool has no value. */
  readonly fallback?: unknown;
  /** The choice of the form for which alone it counts: a class that the styles know. */
  readonly of?: string;
}

export function ms(
  label: string,
  name: string,
  bounds: [number, number],
  about: string,
): Field {
  const [min, max] = bounds;
  return { label: `${label} (ms)`, name: `${name}:int`, min, max, unit: 'ms', about };
}

const UNITS: Readonly<Record<'ms' | 'bytes', readonly (readonly [size: number, name: string])[]>> =
  {
    ms: [[3_600_000, 'h'], [60_000, 'min'], [1_000, 's'], [1, 'ms']],
    bytes: [[1024 * 1024, 'MiB'], [1024, 'KiB'], [1, 'bytes']],
  };

/** `1 000 000`, or with a unit `24 h`. */
function bound(value: number, unit: Field['unit']): string {
  const [size, name] = unit === undefined || value === 0
    ? [1, '']
    : UNITS[unit].find(([size]) => value % size === 0) ?? [1, unit];
  const digits = String(value / size).replace(/\B(?=(\d{3})+$)/g, '\u202f');
  return name === '' ? digits : `${digits} ${name}`;
}

export function Fields({ fields, spec }: { fields: readonly Field[]; spec: Json }) {
  return (
    <div class='grid fields'>
      {fields.map((field) => <Input key={field.name} field={field} spec={spec} />)}
    </div>
  );
}

/** Whether a rule is on; while it is off the styles hide its other fields. */
export function OnOff({ path, isOn, label }: { path: string; isOn: boolean; label: string }) {
  return (
    <label class='switch'>
      <input type='checkbox' role='switch' name={`${path}:on`} value='true' checked={isOn} />{' '}
      {label}
      <input type='hidden' name={`${path}:on`} value='' />
    </label>
  );
}

function Input({ field, spec }: { field: Field; spec: Json }) {
  const { name, label, about, min, max = 0, unit, input } = field;
  const stored = at(spec, field.shows ?? name.split(':')[0] ?? '');
  const value = stored === undefined ? field.fallback : stored;
  const id = name.replace(/\W/g, '-');
  const help = (
    <small id={id}>
      {min === undefined ? about : `${about} ${bound(min, unit)} to ${bound(max, unit)}.`}
    </small>
  );
  if (input === 'checks') {
    return (
      <fieldset class={field.of} aria-describedby={id}>
        <legend>{label}</legend>
        <Checks field={field} chosen={value} />
        {help}
      </fieldset>
    );
  }
  return (
    <div class={field.of}>
      <label>
        {label}
        <Control field={field} value={value} id={id} />
      </label>
      {help}
    </div>
  );
}

function Control({ field, value, id }: { field: Field; value: unknown; id: string }) {
  const { name, min, max, options, input = 'number' } = field;
  if (options !== undefined) {
    return (
      <select name={name} aria-describedby={id}>
        {options.map((option) => {
          const [choice, shown] = typeof option === 'string' ? [option, option] : option;
          const isChosen = choice === shownAs(value);
          return <option key={choice} value={choice} selected={isChosen}>{shown}</option>;
        })}
      </select>
    );
  }
  if (input === 'lines') {
    return (
      <textarea name={name} rows={3} spellcheck={false} aria-describedby={id}>
        {shownAs(value)}
      </textarea>
    );
  }
  return (
    <input
      type={input === 'secret' ? 'password' : input}
      name={name}
      min={min}
      max={max}
      value={input === 'secret' ? '' : shownAs(value)}
      required={name.endsWith(':int')}
      autocomplete={input === 'secret' ? 'new-password' : 'off'}
      spellcheck={false}
      aria-describedby={id}
    />
  );
}

/** An empty value goes along, so that it is known when nothing is checked. */
function Checks({ field, chosen }: { field: Field; chosen: unknown }) {
  const { name, options = [] } = field;
  return (
    <>
      <input type='hidden' name={name} value='' />
      {options.map((option) => (
        <label class='check'>
          <input
            type='checkbox'
            name={name}
            value={String(option)}
            checked={Array.isArray(chosen) && chosen.includes(option)}
          />
          {String(option)}
        </label>
      ))}
    </>
  );
}

function shownAs(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (Array.isArray(value)) return value.map(String).join('\n');
  return typeof value === 'object' ? JSON.stringify(value, null, 2) : String(value);
}
