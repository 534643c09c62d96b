/**
 * Every sequence of up to six steps on one tiny pool, and random longer ones. What is possible in
 * so small a world is tried, not thought of.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { STEPS, TinyPool } from './tiny_pool.ts';

const NAMES = Object.keys(STEPS);
const LENGTH = 6;

/** Takes the steps from the start; null where the last one is not possible there. */
function play(path: readonly string[]): TinyPool | null {
  const tiny = new TinyPool();
  let isTaken = true;
  for (const name of path) isTaken = tiny.take(name);
  return isTaken ? tiny : null;
}

/** Plays the path and all that goes on from it; returns how many sequences there were. */
function explore(path: string[]): number {
  let count = 0;
  for (const name of NAMES) {
    path.push(name);
    try {
      if (play(path) !== null) count += 1 + (path.length < LENGTH ? explore(path) : 0);
    } catch (error) {
      throw new Error(`after ${path.join(', ')}`, { cause: error });
    }
    path.pop();
  }
  return count;
}

class Step implements fc.Command<object, TinyPool> {
  readonly #name: string;

  constructor(name: string) {
    this.#name = name;
  }

  check(): boolean {
    return true;
  }

  run(_model: object, tiny: TinyPool): void {
    tiny.take(this.#name);
  }

  toString(): string {
    return this.#name;
  }
}

describe('a tiny pool', () => {
  it('keeps its promises in every sequence of six steps', { timeout: 60_000 }, () => {
    expect(explore([])).toBeGreaterThan(200_000);
  });

  it('keeps its promises in longer ones', { timeout: 60_000 }, () => {
    const commands = fc.commands(NAMES.map((name) => fc.constant(new Step(name))), {
      maxCommands: 200,
      size: 'max',
    });
    fc.assert(
      fc.property(commands, (steps) => {
        fc.modelRun(() => ({ model: {}, real: new TinyPool() }), steps);
      }),
      { numRuns: 300 },
    );
  });
});
