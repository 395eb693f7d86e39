import * as fc from 'fast-check';
import { IdsUnderWay } from '../../../src/billing/settlement/ids-under-way';

type Step = { readonly add: number } | { readonly arrived: number } | 'part';

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ add: fc.integer({ min: 1, max: 5 }) }),
  fc.record({ arrived: fc.integer({ min: 1, max: 8 }) }),
  fc.constant('part' as const),
);

it('knows every id that has not arrived, and forgets them in the end', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
      const ids = new IdsUnderWay();
      let [sent, arrived] = [0, 0];
      for (const taken of steps) {
        if (taken === 'part') ids.part();
        else if ('add' in taken) for (let count = 0; count < taken.add; count += 1) ids.add(`${(sent += 1)}`);
        else {
          const count = Math.min(taken.arrived, sent - arrived);
          ids.arrived(count);
          arrived += count;
        }
        for (let id = arrived + 1; id <= sent; id += 1) expect(ids.has(`${id}`)).toBe(true);
      }
      ids.arrived(sent - arrived);
      for (let id = 1; id <= sent; id += 1) expect(ids.has(`${id}`)).toBe(false);
    }),
  );
});
