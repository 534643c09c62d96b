/**
 * The headers of a message as they came, found by name without regard to case.
 */
import { type HeaderLine, trimmed } from './head.ts';

const NONE: readonly string[] = [];

export class HeaderLines implements Iterable<HeaderLine> {
  readonly #lines: readonly HeaderLine[];
  readonly #names: readonly string[];

  constructor(lines: readonly HeaderLine[]) {
    this.#lines = lines;
    this.#names = lines.map(([name]) => name.toLowerCase());
  }

  /** One value by its lower-case name; repeated lines come joined by `, `, cookies by `; `. */
  get(name: string): string | null {
    const names = this.#names;
    let found: string | null = null;
    for (let at = 0; at < names.length; at++) {
      if (names[at] !== name) continue;
      const value = (this.#lines[at] as HeaderLine)[1];
      if (found === null) found = value;
      else found += (name === 'cookie' ? '; ' : ', ') + value;
    }
    return found;
  }

  /** Whether several lines have this lower-case name. */
  isRepeated(name: string): boolean {
    return this.#names.indexOf(name) !== this.#names.lastIndexOf(name);
  }

  /** The words of a list header (`a, b`; no cookies), in lower case, by its lower-case name. */
  words(name: string): readonly string[] {
    const value = this.get(name);
    return value === null ? NONE : value.split(',').map((word) => trimmed(word).toLowerCase());
  }

  /** Each line in its order, with its name in lower case and as it came. */
  forEach(visit: (value: string, name: string, asCame: string) => void): void {
    for (let at = 0; at < this.#lines.length; at++) {
      const [asCame, value] = this.#lines[at] as HeaderLine;
      visit(value, this.#names[at] as string, asCame);
    }
  }

  [Symbol.iterator](): Iterator<HeaderLine> {
    return this.#lines[Symbol.iterator]();
  }
}
