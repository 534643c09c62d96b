import fc from 'fast-check';
import { expect, it } from 'vitest';
import { BySlotId, type Slotted } from '../../src/core/by_slot_id.ts';

/** Many begin alike, and `q` means the same bits as `1`. */
const idOf = (n: number) => n % 3 === 0 ? `alike${n}` : n % 3 === 1 ? `${n}` : `q${n}`;

it('says the same as a Map, whatever comes and goes, and tells the oldest grant first', () => {
  const step = fc.tuple(fc.constantFrom('set', 'delete'), fc.nat(20));
  fc.assert(fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
    const items = new BySlotId<Slotted>();
    const model = new Map<string, Slotted>();
    for (const [fence, [what, n]] of steps.entries()) {
      const slotId = idOf(n);
      if (what === 'set') {
        items.set({ slotId, fence });
        model.set(slotId, { slotId, fence });
      } else expect(items.delete(slotId)).toBe(model.delete(slotId));
      expect(items.size).toBe(model.size);
      const oldestFirst = [...model.values()].sort((a, b) => a.fence - b.fence);
      expect(items.values()).toEqual(oldestFirst);
      for (let id = 0; id <= 20; id++) {
        expect(items.get(idOf(id))).toEqual(model.get(idOf(id)));
        expect(items.has(idOf(id))).toBe(model.has(idOf(id)));
      }
    }
  }));
});
