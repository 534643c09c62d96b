/**
 * How the hot path writes rows of JSON: a row is an array, and words that recur stand once in a
 * list. That is half the size and half the time of plain objects. Cells are only ever added at the
 * end of a row, so that what an older program wrote can be read.
 */
export type Cell = string | number | null;
export type Row = Cell[];

/** The words of one text; a cell holds a word's number, or 0 for null. */
export class Words {
  readonly list: string[];
  readonly #numbers = new Map<string, number>();

  constructor(list: string[] = []) {
    this.list = list;
  }

  wordOf(cell: Cell | undefined): string | null {
    return this.list[Number(cell) - 1] ?? null;
  }

  cellOf(word: string | null): number {
    if (word === null) return 0;
    let number = this.#numbers.get(word);
    if (number === undefined) {
      number = this.list.push(word);
      this.#numbers.set(word, number);
    }
    return number;
  }
}
