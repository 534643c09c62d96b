/**
 * From a form of the page to the JSON that the API takes. A field's name is a dotted path and how
 * its text becomes a value: `rate.rpm:int?` is a whole number, or null where it is empty. What the
 * values may be is the API's to say.
 */
import { claimsOf } from '../admin/claims.ts';

/** The text of each field; of one that repeats, a line for each. */
export type Form = ReadonlyMap<string, string>;

type Json = Record<string, unknown>;

export function formOf(text: string): Form {
  const form = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(text)) {
    const known = form.get(name);
    form.set(name, known === undefined ? value : `${known}\n${value}`);
  }
  return form;
}

/** The fields that name a type, nested by their paths. @throws SyntaxError for what is no JSON. */
export function jsonOfForm(form: Form): Json {
  const root: Json = Object.create(null);
  const off = switchedOff(form);
  for (const path of off) put(root, path, null);
  for (const [name, text] of form) {
    const [path = '', type] = name.split(':');
    if (type === undefined || isBelow(path, off)) continue;
    const value = valueOf(type, text);
    if (value !== LEFT_OUT) put(root, path, value);
    else if (type === 'list') put(root, path, listed(read(root, path)));
    else if (type === 'drop') put(root, path, null);
    else if (type === 'known') put(root, path, withDropped(read(root, path), JSON.parse(text)));
  }
  return root;
}

/** Whether a secret goes to this path, and its fields were left empty. */
export function lacksSecret(form: Form, path: string): boolean {
  return ['secret', 'secrets'].some((type) => {
    const text = form.get(`${path}:${type}`);
    return text !== undefined && valueOf(type, text) === LEFT_OUT;
  });
}

/** What is null whatever else its fields say: a rule that is off, and choices not taken. */
function switchedOff(form: Form): string[] {
  const off: string[] = [];
  const choices: string[] = [];
  for (const [name, text] of form) {
    const [path = '', type = ''] = name.split(':');
    if (type === 'on' && text.trim() !== 'true') off.push(path);
    const [kind, ...names] = type.split('.');
    if (kind !== 'one') continue;
    choices.push(...names.filter((one) => one !== text).map((one) => `${path}.${one}`));
  }
  return [...off, ...choices.filter((path) => !isBelow(path, off))];
}

function isBelow(path: string, off: readonly string[]): boolean {
  return off.some((one) => path === one || path.startsWith(`${one}.`));
}

/** No value: what is stored stays. */
const LEFT_OUT = Symbol('left out');

function valueOf(type: string, text: string): unknown {
  const isEmpty = text.trim() === '';
  switch (type) {
    case 'int':
      return numberOf(text);
    case 'int?':
      return isEmpty ? null : numberOf(text);
    case 'bool':
      return text === 'true';
    case 'json':
      return JSON.parse(text);
    case 'json?':
      return isEmpty ? null : JSON.parse(text);
    case 'text?':
      return isEmpty ? null : text.trim();
    case 'lines':
      return linesOf(text);
    case 'lines?':
      return isEmpty ? null : linesOf(text);
    case 'claims':
      return claimsOf(text);
    case 'secret':
      return text === '' ? LEFT_OUT : text;
    case 'secrets':
      return /^\n*$/.test(text) ? LEFT_OUT : text.split('\n').filter((one) => one !== '');
    case 'text':
      return text;
    default:
      return LEFT_OUT;
  }
}

/** What is no number stays text, which the API refuses; JSON has null for it, which resets. */
function numberOf(text: string): number | string {
  const number = Number(text);
  return Number.isFinite(number) ? number : text;
}

function linesOf(text: string): string[] {
  return text.split('\n').map((line) => line.trim()).filter((line) => line !== '');
}

/** The rows of a list, less those that were dropped and those that were left empty. */
function listed(rows: unknown): unknown[] {
  return Object.values((rows ?? {}) as Json).filter((row) =>
    row !== null && Object.values(row as Json).some((value) => value !== '')
  );
}

/** Values by name merge into the stored ones, so a name that is gone must be said. */
function withDropped(value: unknown, known: readonly string[]): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const dropped = known.filter((name) => !Object.hasOwn(value, name));
  return { ...value, ...Object.fromEntries(dropped.map((name) => [name, null])) };
}

function read(root: Json, path: string): unknown {
  return path.split('.').reduce<unknown>((inner, step) => (inner as Json | null)?.[step], root);
}

function put(root: Json, path: string, value: unknown): void {
  const steps = path.split('.');
  const last = steps.pop() ?? '';
  let inner = root;
  for (const step of steps) {
    const below = inner[step] ??= Object.create(null);
    if (typeof below !== 'object') throw new SyntaxError(`${path}: ${step} is a value already.`);
    inner = below as Json;
  }
  inner[last] = value;
}
