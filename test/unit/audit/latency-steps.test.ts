import fc from 'fast-check';
import { latencyColumns, latencyQuantile } from '../../../src/audit/usage/latency-steps';
import { latencyConditions } from '../../../src/audit/usage/latency-steps';

/** The condition as the database reads it. */
const isIn = (condition: string, value: number): boolean => {
  const [, between, and] = /BETWEEN (\d+) AND (\d+)/.exec(condition) ?? [];
  if (between !== undefined) return value >= Number(between) && value <= Number(and);
  const most = /<= (\d+)/.exec(condition)?.[1];
  return most === undefined ? value >= Number(/>= (\d+)/.exec(condition)?.[1]) : value <= Number(most);
};
const stepsOf = (value: number): number[] =>
  latencyConditions.flatMap((condition, step) => (isIn(condition('x'), value) ? [step] : []));

test('every latency falls into one step', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 2_000_000 }), (value) => {
      expect(stepsOf(value)).toHaveLength(1);
    }),
  );
  expect([40, 41, 180_000, 180_001].map((value) => stepsOf(value)[0])).toEqual([0, 1, 14, 15]);
});

test('what 95 in 100 took lies in the step of the true figure, or at its border', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 180_000 }), { minLength: 1, maxLength: 300 }), (list) => {
      const counts = latencyColumns.map(
        (_, step) => list.filter((value) => stepsOf(value)[0] === step).length,
      );
      const exact = list.toSorted((one, other) => one - other)[Math.ceil(0.95 * list.length) - 1] ?? 0;
      const about = latencyQuantile(counts, 0.95) ?? 0;
      const [step = 0] = stepsOf(exact);
      expect([step, step + 1]).toContain(stepsOf(about + 1)[0]);
      expect([step, step - 1]).toContain(stepsOf(Math.max(0, about - 1))[0]);
    }),
  );
});

test('without requests there is none, and of the last step its beginning is told', () => {
  expect(latencyQuantile([], 0.95)).toBeNull();
  expect(
    latencyQuantile(
      latencyColumns.map((_, step) => (step === 15 ? 7 : 0)),
      0.95,
    ),
  ).toBe(180_000);
});
