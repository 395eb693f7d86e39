import * as fc from 'fast-check';
import { PendingIds } from '../../../src/billing/engine/settlement/pending-ids';
import { uuidv7 } from '../../../src/kernel';

type PendingIdStep = { readonly add: number } | { readonly committed: number } | 'separate';

const step: fc.Arbitrary<PendingIdStep> = fc.oneof(
  fc.record({ add: fc.integer({ min: 1, max: 5 }) }),
  fc.record({ committed: fc.integer({ min: 1, max: 8 }) }),
  fc.constant('separate' as const),
);

const createdIds: string[] = [];
const idOf = (number: number): string => (createdIds[number] ??= uuidv7());

it('tracks every uncommitted id and forgets all of them in the end', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
      const ids = new PendingIds();
      let [sent, committed] = [0, 0];
      for (const sequence of steps) {
        if (sequence === 'separate') ids.startGeneration();
        else if ('add' in sequence)
          for (let count = 0; count < sequence.add; count += 1) expect(ids.add(idOf((sent += 1)))).toBe(true);
        else {
          const count = Math.min(sequence.committed, sent - committed);
          ids.forget(count);
          committed += count;
        }
        for (let id = committed + 1; id <= sent; id += 1) expect(ids.add(idOf(id))).toBe(false);
      }
      ids.forget(sent - committed);
      for (let id = 1; id <= sent; id += 1) expect(ids.add(idOf(id))).toBe(true);
    }),
  );
});
