import * as fc from 'fast-check';
import { uuidv7 } from '../../../src/kernel';
import { IdsUnderWay } from '../../../src/billing/engine/settlement/ids-under-way';

type Step = { readonly add: number } | { readonly arrived: number } | 'part';

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ add: fc.integer({ min: 1, max: 5 }) }),
  fc.record({ arrived: fc.integer({ min: 1, max: 8 }) }),
  fc.constant('part' as const),
);

const made: string[] = [];
const idOf = (number: number): string => (made[number] ??= uuidv7());

it('knows every id that has not arrived, and forgets them in the end', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
      const ids = new IdsUnderWay();
      let [sent, arrived] = [0, 0];
      for (const taken of steps) {
        if (taken === 'part') ids.part();
        else if ('add' in taken)
          for (let count = 0; count < taken.add; count += 1) expect(ids.add(idOf((sent += 1)))).toBe(true);
        else {
          const count = Math.min(taken.arrived, sent - arrived);
          ids.arrived(count);
          arrived += count;
        }
        for (let id = arrived + 1; id <= sent; id += 1) expect(ids.add(idOf(id))).toBe(false);
      }
      ids.arrived(sent - arrived);
      for (let id = 1; id <= sent; id += 1) expect(ids.add(idOf(id))).toBe(true);
    }),
  );
});

it('tells ids apart by every digit, however many there are', () => {
  const ids = new IdsUnderWay();
  const id = uuidv7();
  const others = [...id.matchAll(/[0-9a-f]/g)].map(({ 0: digit, index }) => {
    const other = (Number.parseInt(digit, 16) ^ 8).toString(16);
    return `${id.slice(0, index)}${other}${id.slice(index + 1)}`;
  });
  expect([id, ...others].map((one) => ids.add(one))).toEqual([true, ...others.map(() => true)]);
  const many = Array.from({ length: 10_000 }, () => uuidv7());
  expect(many.every((one) => ids.add(one))).toBe(true);
  expect([id, ...others, ...many].some((one) => ids.add(one))).toBe(false);
  ids.arrived(others.length + many.length);
  expect(ids.add(many.at(-1)!)).toBe(false);
  ids.arrived(1);
  expect([id, ...others, ...many].every((one) => ids.add(one))).toBe(true);
});
