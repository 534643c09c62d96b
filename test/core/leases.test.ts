import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Lease } from '../../src/core/lease.ts';
import { Leases } from '../../src/core/leases.ts';

let fence = 0;
const lease = (slotId: string) => ({ slotId, fence: ++fence }) as Lease;
/** Many begin alike, and `q` means the same bits as `1`. */
const idOf = (n: number) => n % 3 === 0 ? `alike${n}` : n % 3 === 1 ? `${n}` : `q${n}`.slice(0, 5);

it('says the same as a Map, whatever comes and goes', () => {
  const steps = fc.array(fc.tuple(fc.boolean(), fc.nat(20)), { maxLength: 200 });
  fc.assert(fc.property(steps, (taken) => {
    const leases = new Leases();
    const model = new Map<string, Lease>();
    for (const [isAdded, n] of taken) {
      const item = model.get(idOf(n)) ?? lease(idOf(n));
      const isThere = model.has(item.slotId);
      if (isAdded) {
        expect(leases.add(item)).toBe(!isThere);
        expect(leases.add(lease(item.slotId)), 'another of the same id').toBe(false);
        model.set(item.slotId, item);
      } else {
        expect(leases.remove(lease(item.slotId)), 'another of the same id').toBe(false);
        expect(leases.remove(item)).toBe(isThere);
        model.delete(item.slotId);
      }
      expect(leases.size).toBe(model.size);
      expect([...leases.values()].map(({ slotId }) => slotId)).toEqual([...model.keys()]);
      expect([...leases.values()]).toEqual([...model.values()]);
      for (let id = 0; id <= 20; id++) {
        expect(leases.get(idOf(id))).toBe(model.get(idOf(id)));
        expect(leases.has(idOf(id))).toBe(model.has(idOf(id)));
      }
    }
  }));
});
