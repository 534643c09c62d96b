/**
 * Seeded randomness: mulberry32, and the distributions that the simulated world draws from. The
 * same seed gives the same numbers on every machine.
 */
export type Random = () => number;

export function mulberry32(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

export function uniform(random: Random, from: number, to: number): number {
  return from + (to - from) * random();
}

/** Lognormal with the given mean and coefficient of variation. */
export function lognormal(random: Random, mean: number, cv: number): number {
  const variance = Math.log(1 + cv * cv);
  const radius = Math.sqrt(-2 * Math.log(1 - random()));
  const normal = radius * Math.cos(2 * Math.PI * random());
  return Math.exp(Math.log(mean) - variance / 2 + Math.sqrt(variance) * normal);
}
