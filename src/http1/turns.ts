/**
 * Fairness between connections. The runtime ends the reads of at most 128 sockets in one turn of
 * its loop; where more are ready it puts the others off until the next look at the network, and
 * those that were served, if they ask again at once, come before them each time: some callers then
 * wait for hundreds of ms (measured at 256 busy connections). So while turns stay full, a caller
 * that was read is read again only when all that were ready have had their turn.
 */

/**
 * A turn ends 128 operations at most, the budget of a task in tokio (`coop`). Nearly all are reads,
 * but most full turns have an accept, a dial or a write that waited among them, too.
 */
const FULL_READS = 120;
/** So many full turns without a pause, and somebody may be passed over each time. */
const FULL_TURNS = 4;
/** Full turns for which a caller is held at most. */
const HELD_TURNS = 32;
/** How long the next turn is waited for, which does not come where nobody was put off. */
const NEXT_TURN_MS = 3;

class Turns {
  #sockets = 0;
  #reads = 0;
  #isOpen = false;
  #fullTurns = 0;
  #held: (() => void)[] = [];
  #timer: ReturnType<typeof setTimeout> | null = null;

  /** A connection began, of a caller or to an upstream. */
  noteOpened(): void {
    this.#sockets++;
  }

  /** It was closed, which is told once. */
  noteClosed(): void {
    this.#sockets--;
  }

  /** A read has ended. */
  noteRead(): void {
    // Among so few nobody is put off for long, and to hear of a turn's end costs each of them some.
    if (this.#sockets < FULL_READS && this.#fullTurns === 0) return;
    this.#reads++;
    if (!this.#isOpen) this.#open();
  }

  /** Waits until the others were read; null where there is nothing to wait for. */
  forOthers(): Promise<void> | null {
    if (this.#fullTurns < FULL_TURNS) return null;
    if (!this.#isOpen && this.#timer === null) this.#open();
    return new Promise((go) => this.#held.push(go));
  }

  #open(): void {
    this.#isOpen = true;
    setImmediate(this.#end);
  }

  readonly #end = (): void => {
    const reads = this.#reads;
    this.#reads = 0;
    this.#isOpen = false;
    if (reads < FULL_READS) return this.#letGo(0);
    if (++this.#fullTurns < FULL_TURNS) return;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    // Nobody is held for ever.
    if (this.#fullTurns >= FULL_TURNS + HELD_TURNS) this.#letGo(FULL_TURNS);
    else this.#timer = setTimeout(() => this.#letGo(FULL_TURNS - 1), NEXT_TURN_MS);
  };

  #letGo(fullTurns: number): void {
    const held = this.#held;
    this.#held = [];
    this.#fullTurns = fullTurns;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    for (const go of held) go();
  }
}

/** There is one loop, so one of these. */
export const turns = new Turns();
