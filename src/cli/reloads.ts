/**
 * When the configuration is read again: one reload at a time, and at least one whole one after the
 * last signal, so that an older file never stays in force. A signal that comes while the server
 * starts is kept for when it can be obeyed.
 */

export class Reloads {
  #isAsked = false;
  /** Null until reloads can be made, and while one is under way. */
  #reload: (() => Promise<void>) | null = null;

  /** Asks for a reload: at once, or after the one under way. */
  ask(): void {
    this.#isAsked = true;
    void this.#run();
  }

  /** From now on, what was asked for is done. */
  begin(reload: () => Promise<void>): void {
    this.#reload = reload;
    void this.#run();
  }

  async #run(): Promise<void> {
    const reload = this.#reload;
    if (reload === null) return;
    this.#reload = null;
    while (this.#isAsked) {
      this.#isAsked = false;
      await reload();
    }
    this.#reload = reload;
  }
}
