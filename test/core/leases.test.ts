import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Lease } from '../../src/core/lease.ts';
import { Leases } from '../../src/core/leases.ts';

const lease = (slotId: string) => ({ slotId }) as Lease;

it('says the same as a Map, whatever comes and goes', () => {
  const steps = fc.array(fc.tuple(fc.boolean(), fc.nat(20)), { maxLength: 200 });
  fc.assert(fc.property(steps, (taken) => {
    const leases = new Leases();
    const model = new Map<string, Lease>();
    for (const [isAdded, n] of taken) {
      const item = model.get(`s${n}`) ?? lease(`s${n}`);
      if (isAdded && !model.has(item.slotId)) {
        leases.add(item);
        model.set(item.slotId, item);
      } else if (!isAdded) {
        leases.remove(item);
        model.delete(item.slotId);
      }
      expect(leases.size).toBe(model.size);
      expect([...leases.values()].map(({ slotId }) => slotId)).toEqual([...model.keys()]);
      expect([...leases.values()]).toEqual([...model.values()]);
      for (let id = 0; id <= 20; id++) {
        expect(leases.get(`s${id}`)).toBe(model.get(`s${id}`));
        expect(leases.has(`s${id}`)).toBe(model.has(`s${id}`));
      }
    }
  }));
});
