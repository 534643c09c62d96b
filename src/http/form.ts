/**
 * From a form of the page to the JSON that the API takes. A field's name is a dotted path and how
 * its text becomes a value: `rate.rpm:int?` is a whole number, or null where it is empty. What the
 * values may be is the API's to say.
 */
export type Form = ReadonlyMap<string, string>;

export function formOf(text: string): Form {
  return new Map(new URLSearchParams(text));
}

/** The fields that name a type, nested by their paths. @throws SyntaxError for bad JSON. */
export function jsonOfForm(form: Form): Record<string, unknown> {
  const root: Record<string, unknown> = Object.create(null);
  for (const [name, text] of form) {
    const [path = '', type] = name.split(':');
    if (type === undefined) continue;
    const steps = path.split('.');
    const last = steps.pop() ?? '';
    let inner = root;
    for (const step of steps) {
      inner = (inner[step] ??= Object.create(null)) as Record<string, unknown>;
    }
    inner[last] = valueOf(type, text);
  }
  return root;
}

function valueOf(type: string, text: string): unknown {
  switch (type) {
    case 'int':
      return Number(text);
    case 'int?':
      return text.trim() === '' ? null : Number(text);
    case 'bool':
      return text === 'true';
    case 'json':
      return JSON.parse(text);
    default:
      return text;
  }
}
