/** The two questions that are asked of JSON whose shape nobody has checked yet. */

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
