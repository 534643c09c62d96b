/**
 * A promise that the simulated server broke. It ends the simulation, which adds the seed, the turn
 * and the time at which it happened.
 */
export class Violation extends Error {
  override name = 'Violation';
}

export function claim(condition: boolean, promise: string, facts: unknown = ''): void {
  if (condition) return;
  const told = typeof facts === 'string' ? facts : JSON.stringify(facts);
  throw new Violation(`${promise}${told === '' ? '' : `: ${told}`}`);
}
