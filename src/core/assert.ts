/**
 * The one way in which the core throws: a broken invariant. The process logs it and ends, and the
 * restart recovers from the database. Refusals and bad input are values and never come here.
 */
export class InvariantError extends Error {
  override name = 'InvariantError';
}

/** Ends the process (by way of {@link InvariantError}) where a promise of the core is broken. */
export function assert(condition: unknown, invariant: string): asserts condition {
  if (!condition) throw new InvariantError(`broken invariant: ${invariant}`);
}
