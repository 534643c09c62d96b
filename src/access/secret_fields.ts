/**
 * Which fields of a pool's settings are secrets, and what is done with them all alike: hidden in
 * answers, kept where a change leaves them out, and replaced one by one. A new secret field is one
 * line here.
 */
import { isObject } from '../json.ts';

interface SecretField {
  /** The steps to the object, or the list of objects, that holds the secret. */
  readonly path: readonly string[];
  readonly name: string;
  /** In a list of objects, the member by which one is known again. */
  readonly listedBy?: string;
}

const SECRET_FIELDS: readonly SecretField[] = [
  { path: ['access', 'hmac'], name: 'secrets' },
  { path: ['access', 'jwt'], name: 'secret' },
  { path: ['upstream', 'credentials'], name: 'value', listedBy: 'name' },
];

type Json = Record<string, unknown>;

/** The settings with every secret replaced by what `change` makes of it. Nothing is changed. */
export function mapSecrets<T>(
  settings: T,
  change: (secret: unknown, field: string) => unknown,
): T {
  return mapHolders(settings, ({ name }, holder, where) => {
    const value = holder[name];
    if (value === undefined || value === null) return holder;
    const field = `${where}.${name}`;
    const changed = Array.isArray(value)
      ? value.map((one, i) => change(one, `${field}.${i}`))
      : change(value, field);
    return { ...holder, [name]: changed };
  });
}

/** The settings as they may be shown: `secretSet` stands for each secret. */
export function withoutSecrets<T extends object>(settings: T): object {
  return mapHolders(settings, ({ name }, holder) => {
    const { [name]: secret, ...rest } = holder;
    return { ...rest, secretSet: secret !== undefined && secret !== null };
  });
}

/** Of a change that replaces a list, the items without a secret keep the one that they had. */
export function keepListedSecrets(known: object, changed: unknown): unknown {
  return SECRET_FIELDS.reduce((settings, { path, name, listedBy }) => {
    if (listedBy === undefined) return settings;
    const before = at(known, path);
    return mapAt(settings, path, (list) => {
      if (!Array.isArray(list) || !Array.isArray(before)) return list;
      return list.map((item) => {
        if (!isObject(item) || Object.hasOwn(item, name)) return item;
        const same = before.find((other) => isObject(other) && other[listedBy] === item[listedBy]);
        return same === undefined ? item : { ...item, [name]: (same as Json)[name] };
      });
    });
  }, changed);
}

function mapHolders<T>(
  settings: T,
  change: (field: SecretField, holder: Json, where: string) => Json,
): T {
  return SECRET_FIELDS.reduce((mapped: unknown, field) =>
    mapAt(mapped, field.path, (holder) => {
      const where = field.path.join('.');
      if (Array.isArray(holder)) {
        return holder.map((item, i) =>
          isObject(item) ? change(field, item, `${where}.${i}`) : item
        );
      }
      return isObject(holder) ? change(field, holder, where) : holder;
    }), settings) as T;
}

function at(value: unknown, path: readonly string[]): unknown {
  return path.reduce((inner, name) => isObject(inner) ? inner[name] : undefined, value);
}

function mapAt(
  value: unknown,
  path: readonly string[],
  change: (value: unknown) => unknown,
): unknown {
  const [name, ...rest] = path;
  if (name === undefined) return change(value);
  if (!isObject(value) || !Object.hasOwn(value, name)) return value;
  return { ...value, [name]: mapAt(value[name], rest, change) };
}
