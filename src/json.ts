/** The questions that are asked of JSON whose shape nobody has checked yet. */

/** Whether it is an object with members, neither a list nor null. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** What somebody typed: JSON where it is that, else the text itself. */
export function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/**
 * Where a member named `__proto__` stands, as a dotted path; null where there is none. Schemas and
 * copies pass over it, so what it says would be taken and not followed.
 */
export function protoPath(json: unknown): string | null {
  const left: (readonly [value: unknown, path: string])[] = [[json, '']];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const [value, path] = next;
    if (typeof value !== 'object' || value === null) continue;
    if (Object.hasOwn(value, '__proto__')) return `${path}__proto__`;
    for (const [name, member] of Object.entries(value)) left.push([member, `${path}${name}.`]);
  }
  return null;
}
