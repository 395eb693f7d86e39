import fc from 'fast-check';
import { latencyColumns, latencyQuantile } from '../../../src/audit/usage/latency-steps';
import { latencyConditions } from '../../../src/audit/usage/latency-steps';

/** Evaluates the SQL condition of a latency step. */
const matchesCondition = (condition: string, value: number): boolean => {
  const [, between, and] = /BETWEEN (\d+) AND (\d+)/.exec(condition) ?? [];
  if (between !== undefined) return value >= Number(between) && value <= Number(and);
  const upperBound = /<= (\d+)/.exec(condition)?.[1];
  return upperBound === undefined
    ? value >= Number(/>= (\d+)/.exec(condition)?.[1])
    : value <= Number(upperBound);
};
const stepsOf = (value: number): number[] =>
  latencyConditions.flatMap((condition, step) => (matchesCondition(condition('x'), value) ? [step] : []));

test('every latency falls into exactly one step', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 2_000_000 }), (value) => {
      expect(stepsOf(value)).toHaveLength(1);
    }),
  );
  expect([40, 41, 180_000, 180_001].map((value) => stepsOf(value)[0])).toEqual([0, 1, 14, 15]);
});

test('estimated p95 latency is in the step of the exact value or at its border', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 180_000 }), { minLength: 1, maxLength: 300 }), (list) => {
      const counts = latencyColumns.map(
        (_, step) => list.filter((value) => stepsOf(value)[0] === step).length,
      );
      const exact = list.toSorted((one, other) => one - other)[Math.ceil(0.95 * list.length) - 1] ?? 0;
      const estimate = latencyQuantile(counts, 0.95) ?? 0;
      const [step = 0] = stepsOf(exact);
      expect([step, step + 1]).toContain(stepsOf(estimate + 1)[0]);
      expect([step, step - 1]).toContain(stepsOf(Math.max(0, estimate - 1))[0]);
    }),
  );
});

test('quantile is null without requests, and the lower bound of the last step for the slowest', () => {
  expect(latencyQuantile([], 0.95)).toBeNull();
  expect(
    latencyQuantile(
      latencyColumns.map((_, step) => (step === 15 ? 7 : 0)),
      0.95,
    ),
  ).toBe(180_000);
});
