/**
 * What is said of an input that a schema refuses, where the schema has no words of its own: what is
 * wanted, and what kind of thing came, never the value itself. Set once, for every schema.
 */
import { z } from 'zod';

type RawIssue = Parameters<z.core.$ZodErrorMap>[0];

z.config({ customError: wordsOf });

/** Goes on as `{path} …`; undefined leaves it to the library. */
function wordsOf(issue: RawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return wrongKind(issue.expected, issue.input);
    case 'too_small':
      return outOfRange(issue.origin, `at least ${issue.minimum}`, Number(issue.minimum));
    case 'too_big':
      return outOfRange(issue.origin, `at most ${issue.maximum}`, Number(issue.maximum));
    case 'invalid_value':
      return `must be ${issue.values.length === 1 ? '' : 'one of '}${issue.values.join(', ')}`;
    case 'invalid_format':
      return 'is not well-formed';
    case 'invalid_union':
      return ofNoKind(issue.errors, issue.input);
  }
}

const KINDS: Readonly<Record<string, string>> = {
  object: 'a JSON object',
  record: 'a JSON object',
  array: 'a list',
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
};

function wrongKind(expected: string, input: unknown): string {
  const wanted = `must be ${KINDS[expected] ?? expected}`;
  if (expected === 'int') return wanted;
  // What is no finite number has no other kind.
  return typeof input === 'number' && expected === 'number'
    ? 'must be a finite number'
    : `${wanted}; ${kindOf(input)} came`;
}

function kindOf(input: unknown): string {
  if (input === undefined) return 'none';
  if (input === null) return 'null';
  if (Array.isArray(input)) return 'a list';
  if (typeof input === 'boolean') return String(input);
  return KINDS[typeof input] ?? typeof input;
}

function outOfRange(origin: string, bound: string, count: number): string {
  switch (origin) {
    case 'string':
      return `must have ${bound} ${count === 1 ? 'character' : 'characters'}`;
    case 'array':
      return `must have ${bound} ${count === 1 ? 'entry' : 'entries'}`;
    default:
      return `must be ${bound}`;
  }
}

type Branches = Extract<RawIssue, { code: 'invalid_union' }>['errors'];

/** The fault of the form that was meant, or all forms that there are. */
function ofNoKind(branches: Branches, input: unknown): string {
  const wanted: string[] = [];
  for (const [issue] of branches) {
    if (issue === undefined) continue;
    if (issue.code !== 'invalid_type' || issue.path.length > 0) return issue.message;
    wanted.push(KINDS[issue.expected] ?? issue.expected);
  }
  return `must be ${[...new Set(wanted)].join(' or ')}; ${kindOf(input)} came`;
}
