/**
 * What a caller should hear of that must neither end its program nor cost it its slot: told on the
 * runtime's own way for warnings.
 */
export function warn(what: string, error: unknown): void {
  const { process } = globalThis as { process?: { emitWarning?: (line: string) => void } };
  const why = error instanceof Error ? error.message : String(error);
  process?.emitWarning?.(`nthbouncer: ${what}: ${why}`);
}

/** Calls what a caller gave; that it throws, or rejects, is a warning. */
export function callBack(name: string, call: () => unknown): void {
  new Promise((done) => done(call())).catch((error) => warn(`${name} failed`, error));
}
