import fc from 'fast-check';
import { scatterChart, type ScatterInput } from '../../../src/views';

const valueWithRange = (value: number) => ({ value, low: value * 0.9, high: value * 1.1 });
const input = (points: readonly [name: string, cost: number, score: number][]): ScatterInput => ({
  title: 'Quality and cost',
  xLabel: 'Cost',
  yLabel: 'Score',
  points: points.map(([name, cost, score], slot) => ({
    name,
    slot: slot + 1,
    x: valueWithRange(cost),
    y: valueWithRange(score),
  })),
  path: { name: 'Dial', stops: [{ label: '5', x: 1_000, y: 70, current: true }] },
  formatX: String,
  formatY: String,
});

test('no chart is drawn for fewer than two models', () => {
  expect(scatterChart(input([['one', 1_000, 70]]))).toBeNull();
});

test('more expensive is right, better is higher and the current setting is marked', () => {
  const chart = scatterChart(
    input([
      ['cheap', 100, 40],
      ['dear', 10_000, 90],
    ]),
  );
  const [first, second] = chart?.points ?? [];
  // The highest point is listed first.
  expect([first?.label.text, second?.label.text]).toEqual(['dear', 'cheap']);
  expect(first?.x).toBeGreaterThan(second?.x ?? NaN);
  expect(first?.y).toBeLessThan(second?.y ?? NaN);
  expect(chart?.stops).toEqual([expect.objectContaining({ current: true, label: '5' })]);
  expect(chart?.current).toBe('5');
});

test('every point is inside the plot and within its range for any figures', () => {
  const points = fc.array(
    fc.tuple(
      fc.string({ minLength: 1, maxLength: 8 }),
      fc.double({ min: 1, max: 1e9, noNaN: true }),
      fc.double({ min: 0, max: 100, noNaN: true }),
    ),
    { minLength: 2, maxLength: 12 },
  );
  fc.assert(
    fc.property(points, (inputPoints) => {
      const chart = scatterChart(input(inputPoints));
      for (const { x, y, left, right, top, bottom } of chart?.points ?? []) {
        for (const coordinate of [x, left, right]) {
          expect(coordinate).toBeGreaterThanOrEqual(0);
          expect(coordinate).toBeLessThanOrEqual(100);
        }
        expect(left).toBeLessThanOrEqual(x);
        expect(right).toBeGreaterThanOrEqual(x);
        expect(top).toBeLessThanOrEqual(y);
        expect(bottom).toBeGreaterThanOrEqual(y);
        expect(top).toBeGreaterThanOrEqual(-0.01);
        expect(bottom).toBeLessThanOrEqual(240.01);
      }
      expect(chart?.scale.length).toBe(chart?.gridlines.length);
    }),
  );
});

test('labels of overlapping points are stacked', () => {
  const chart = scatterChart(
    input([
      ['one', 1_000, 80],
      ['two', 1_010, 80.1],
      ['three', 1_020, 80.2],
    ]),
  );
  const heights = (chart?.points ?? []).map(({ label }) => label.y).sort((a, b) => a - b);
  heights
    .slice(1)
    .forEach((height, index) => expect(height - (heights[index] ?? 0)).toBeGreaterThanOrEqual(16));
});
