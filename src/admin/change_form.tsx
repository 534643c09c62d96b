/**
 * The forms that change a pool's settings. Each shows one part of them whole, and sends along which
 * state of it was shown, so that what somebody else saved meanwhile is not undone unseen. Once it
 * is saved its fields are drawn anew from what is stored, as a fresh page draws them.
 */
import { createHash } from 'node:crypto';
import type { Child } from 'hono/jsx';
import type { Rule } from './in_force.ts';
import { inForce } from './in_force.ts';
import { Action } from './layout.tsx';
import type { Json } from './shapes.ts';
import { at } from './shapes.ts';

export interface Shown {
  /** The pool as the API tells it. */
  readonly spec: Json;
  /** What each credential of the upstream does now. */
  readonly credentials: readonly Json[];
}

export interface Change {
  /** The part of the settings that it shows and sends: a dotted path. */
  readonly path: string;
  readonly label: string;
  /** The rule whose effect is told beside its button. */
  readonly rule?: Rule;
  readonly draw: (shown: Shown) => Child;
}

export function ChangeForm(
  { name, change, shown }: { name: string; change: Change; shown: Shown },
) {
  const { label, rule } = change;
  const act = `/admin/pools/${String(shown.spec['name'])}/act`;
  const told = rule === undefined ? '' : `Now: ${inForce(rule, shown.spec)}`;
  return (
    <Action to={`${act}/${name}`} label={label} told={told}>
      <Drawn change={change} shown={shown} />
    </Action>
  );
}

/** The answer to a form that was saved: what is told, and its fields as they are now. */
export function Saved({ change, shown }: { change: Change; shown: Shown }) {
  const { rule } = change;
  const now = rule === undefined ? '' : ` Now: ${inForce(rule, shown.spec)}`;
  return (
    <>
      {`Saved; it applies from now on.${now}`}
      <hx-partial hx-target='find .shown'>
        <Drawn change={change} shown={shown} />
      </hx-partial>
    </>
  );
}

function Drawn({ change, shown }: { change: Change; shown: Shown }) {
  const { path, draw } = change;
  const mark = markOf(shown.spec, path);
  return (
    <>
      {draw(shown)}
      <input type='hidden' name={SEEN} value={mark} autocomplete='off' />
    </>
  );
}

/** The field that says which state of its part a form was made from. */
export const SEEN = 'seen';

/** Tells one state of a part of the settings from another, in whatever order its fields come. */
export function markOf(spec: Json, path: string): string {
  const text = JSON.stringify(at(spec, path), (_, value) => inOrder(value));
  return createHash('sha256').update(text).digest('base64url').slice(0, 16);
}

function inOrder(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => a < b ? -1 : 1));
}
