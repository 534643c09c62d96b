import { expect, test } from 'vitest';
import { UnitsLeft } from '../../../src/core/governor/units_left.ts';

function told(amount: number): UnitsLeft {
  const left = new UnitsLeft();
  left.tell(amount, { sequence: 0 });
  return left;
}

test('what a call reserved and did not use comes back; what it used beyond goes', () => {
  const left = told(1000);
  left.started(400);
  left.started(100);
  expect([left.amount, left.mayHold(900), left.mayHold(1001)]).toEqual([500, true, false]);
  left.ended({ sequence: 1 }, { reserved: 400, used: 50 });
  expect([left.amount, left.mayHold(900)]).toEqual([850, true]);
  left.ended({ sequence: 2 }, { reserved: 100, used: 300 });
  expect([left.amount, left.mayHold(651)]).toEqual([650, false]);
});

test('calls that started before the upstream told anew are in what it told', () => {
  const left = told(1000);
  left.started(400);
  left.tell(700, { sequence: 1 });
  left.started(100);
  left.ended({ sequence: 1 }, { reserved: 400, used: 0 });
  expect([left.amount, left.mayHold(700)]).toEqual([600, true]);
  left.ended({ sequence: 2 }, { reserved: 100, used: 0 });
  expect(left.amount).toBe(700);
});

test('told again of the same window it only goes down, and more being told changes nothing', () => {
  const left = told(1000);
  left.started(400);
  left.tellAgain(900, { sequence: 1 });
  left.ended({ sequence: 1 }, { reserved: 400, used: 100 });
  expect(left.amount).toBe(900);
  left.started(400);
  left.tellAgain(300, { sequence: 2 });
  left.ended({ sequence: 2 }, { reserved: 400, used: 100 });
  expect(left.amount).toBe(300);
});
