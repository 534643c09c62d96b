/**
 * `npm run sim:planted`: proves that the simulator finds every planted fault within its seeds, and
 * nothing in the tree as it is over the same seeds. Exits 1 where it does not.
 */
import process from 'node:process';
import { FAULTS } from './faults.ts';
import { search } from './plant.ts';

let isProven = true;
for (const fault of [null, ...FAULTS]) {
  const { isFound, said } = await search(fault);
  if (isFound !== (fault !== null)) isProven = false;
  console.log(`${isFound ? 'found  ' : 'nothing'}  ${fault?.name ?? 'the tree as it is'}`);
  console.log(`         ${said.split('\n')[0]?.slice(0, 160)}`);
}
process.exit(isProven ? 0 : 1);
