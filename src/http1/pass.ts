/** Lets the event loop hand out what has come meanwhile. */
export function pass(): Promise<void> {
  return new Promise((done) => setImmediate(done));
}
