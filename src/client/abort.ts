/**
 * Waits for a caller's signal to abort. All who wait for one signal share one listener: Node warns
 * of a leak where a signal has more than ten, and a program may acquire many slots under one.
 */
const waiting = new WeakMap<AbortSignal, Set<() => void>>();

/** Calls `then` when the signal aborts, which it has not done yet; the answer cancels it. */
export function onAbort(signal: AbortSignal | undefined, then: () => void): () => void {
  if (signal === undefined) return () => {};
  const all = waiting.get(signal) ?? listen(signal);
  all.add(then);
  return () => void all.delete(then);
}

function listen(signal: AbortSignal): Set<() => void> {
  const all = new Set<() => void>();
  waiting.set(signal, all);
  signal.addEventListener('abort', () => all.forEach((then) => then()), { once: true });
  return all;
}
