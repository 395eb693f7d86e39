import fc from 'fast-check';
import { averageQuality, costAt, hull, type Point, qualityAt } from '../../../bench/autorouter/curve';
import { frameOf, outcomeOf, split } from '../../../bench/autorouter/frontier';
import { router, shuffledLabels } from '../../../bench/autorouter/methods';
import { randomOf, shuffled } from '../../../bench/autorouter/random';
import { synthetic } from '../../../bench/autorouter/synthetic';

const finite = fc.integer({ min: 0, max: 1_000 }).map((thousandths) => thousandths / 1_000);
const points: fc.Arbitrary<Point[]> = fc.array(fc.record({ cost: finite, quality: finite }), {
  minLength: 1,
  maxLength: 30,
});

describe('the yardstick', () => {
  test('a hull has no point above it, rises, and bends down', () => {
    fc.assert(
      fc.property(points, (some) => {
        const line = hull(some);
        for (const { cost, quality } of some)
          expect(qualityAt(line, cost)).toBeGreaterThanOrEqual(quality - 1e-9);
        const rises = line.slice(1).map((point, at) => {
          const before = line[at] ?? point;
          return { cost: point.cost - before.cost, quality: point.quality - before.quality };
        });
        expect(rises.every(({ cost, quality }) => cost > 0 && quality > 0)).toBe(true);
        rises.slice(1).forEach(({ cost, quality }, at) => {
          const before = rises[at] ?? { cost: 1, quality: 1 };
          expect(quality * before.cost).toBeLessThanOrEqual(before.quality * cost + 1e-9);
        });
      }),
    );
  });

  test('means and costs are read off it', () => {
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

  test('a split keeps every row on one side, and the same seed makes the same', () => {
    const set = synthetic();
    const { train, test: kept } = split(set, 7);
    expect(train.length + kept.length).toBe(set.rows.length);
    expect(new Set([...train, ...kept].map(({ id }) => id)).size).toBe(set.rows.length);
    expect(split(set, 7).train.map(({ id }) => id)).toEqual(train.map(({ id }) => id));
    expect(shuffled([1, 2, 3, 4, 5], randomOf(1))).toEqual(shuffled([1, 2, 3, 4, 5], randomOf(1)));
  });
});

test('on generated traffic the router beats a mix of models, and itself with shuffled scores', () => {
  const whole = synthetic();
  const set = { ...whole, rows: whole.rows.slice(0, 1_200) };
  const { train, test: kept, random } = split(set, 3);
  const frame = frameOf(set, kept);
  const gapOf = (method: typeof router): number => outcomeOf(frame, method(set, train, random)).gapClosed;
  const [own, control] = [gapOf(router), gapOf(shuffledLabels)];
  expect(own).toBeGreaterThan(10);
  expect(own).toBeGreaterThan(control + 5);
});
