/**
 * What is still to be written down, by its name. A write takes all of it; what the store did not
 * take, and what took another's place meanwhile, is for the next one.
 */
export class Unsaved<Value> {
  readonly #values = new Map<string, Value>();

  set(name: string, value: Value): void {
    this.#values.set(name, value);
  }

  delete(name: string): void {
    this.#values.delete(name);
  }

  /** Writes what there is, if anything. @throws what the write does */
  async save(write: (values: ReadonlyMap<string, Value>) => Promise<void>): Promise<void> {
    const written = new Map(this.#values);
    if (written.size === 0) return;
    await write(written);
    for (const [name, value] of written) {
      if (this.#values.get(name) === value) this.#values.delete(name);
    }
  }
}
