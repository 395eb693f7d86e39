import fc from 'fast-check';
import { averageQuality, costAt, hull, type CurvePoint, qualityAt } from '../../../bench/autorouter/curve';
import { frameOf, outcomeOf, split } from '../../../bench/autorouter/frontier';
import { router, shuffledLabels } from '../../../bench/autorouter/methods';
import { randomOf, shuffled } from '../../../bench/autorouter/random';
import { synthetic } from '../../../bench/autorouter/synthetic';

const finite = fc.integer({ min: 0, max: 1_000 }).map((thousandths) => thousandths / 1_000);
const points: fc.Arbitrary<CurvePoint[]> = fc.array(fc.record({ cost: finite, quality: finite }), {
  minLength: 1,
  maxLength: 30,
});

describe('Benchmark metrics', () => {
  test('convex hull has no point above it, rises and bends down', () => {
    fc.assert(
      fc.property(points, (some) => {
        const line = hull(some);
        for (const { cost, quality } of some)
          expect(qualityAt(line, cost)).toBeGreaterThanOrEqual(quality - 1e-9);
        const increments = line.slice(1).map((point, at) => {
          const previous = line[at] ?? point;
          return { cost: point.cost - previous.cost, quality: point.quality - previous.quality };
        });
        expect(increments.every(({ cost, quality }) => cost > 0 && quality > 0)).toBe(true);
        increments.slice(1).forEach(({ cost, quality }, at) => {
          const previous = increments[at] ?? { cost: 1, quality: 1 };
          expect(quality * previous.cost).toBeLessThanOrEqual(previous.quality * cost + 1e-9);
        });
      }),
    );
  });

  test('average quality and cost are read from the hull', () => {
    const line = hull([
      { cost: 1, quality: 0.5 },
      { cost: 3, quality: 0.9 },
      { cost: 4, quality: 0.8 },
    ]);
    expect(line).toHaveLength(2);
    expect(averageQuality(line, 1, 3)).toBeCloseTo(0.7, 6);
    expect(averageQuality(line, 3, 5)).toBeCloseTo(0.9, 6);
    expect(costAt(line, 0.7)).toBeCloseTo(2, 9);
    expect(costAt(line, 0.95)).toBeUndefined();
  });

  test('split puts every row on exactly one side and is reproducible from its seed', () => {
    const set = synthetic();
    const { train, test: testRows } = split(set, 7);
    expect(train.length + testRows.length).toBe(set.rows.length);
    expect(new Set([...train, ...testRows].map(({ id }) => id)).size).toBe(set.rows.length);
    expect(split(set, 7).train.map(({ id }) => id)).toEqual(train.map(({ id }) => id));
    expect(shuffled([1, 2, 3, 4, 5], randomOf(1))).toEqual(shuffled([1, 2, 3, 4, 5], randomOf(1)));
  });
});

test('router beats a mix of models and a router with shuffled scores on synthetic traffic', () => {
  const fullSet = synthetic();
  const set = { ...fullSet, rows: fullSet.rows.slice(0, 1_200) };
  const { train, test: testRows, random } = split(set, 3);
  const frame = frameOf(set, testRows);
  const gapOf = (method: typeof router): number => outcomeOf(frame, method(set, train, random)).gapClosed;
  const [own, control] = [gapOf(router), gapOf(shuffledLabels)];
  expect(own).toBeGreaterThan(10);
  expect(own).toBeGreaterThan(control + 5);
});
