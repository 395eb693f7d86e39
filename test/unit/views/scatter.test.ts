import fc from 'fast-check';
import { scatterChart, type ScatterInput } from '../../../src/views';

const range = (value: number) => ({ value, low: value * 0.9, high: value * 1.1 });
const input = (points: readonly [name: string, cost: number, score: number][]): ScatterInput => ({
  title: 'Quality and cost',
  xLabel: 'Cost',
  yLabel: 'Score',
  points: points.map(([name, cost, score], slot) => ({
    name,
    slot: slot + 1,
    x: range(cost),
    y: range(score),
  })),
  path: { name: 'Dial', stops: [{ label: '5', x: 1_000, y: 70, current: true }] },
  formatX: String,
  formatY: String,
});

test('there is no picture of fewer than two models', () => {
  expect(scatterChart(input([['one', 1_000, 70]]))).toBeNull();
});

test('the dearer is further right, the better is higher, and the setting in force is marked', () => {
  const chart = scatterChart(
    input([
      ['cheap', 100, 40],
      ['dear', 10_000, 90],
    ]),
  );
  const [first, second] = chart?.points ?? [];
  // The highest comes first.
  expect([first?.label.text, second?.label.text]).toEqual(['dear', 'cheap']);
  expect(first?.x).toBeGreaterThan(second?.x ?? NaN);
  expect(first?.y).toBeLessThan(second?.y ?? NaN);
  expect(chart?.stops).toEqual([expect.objectContaining({ current: true, label: '5' })]);
  expect(chart?.current).toBe('5');
});

test('everything stays inside the plot, in its range, whatever the figures', () => {
  const points = fc.array(
    fc.tuple(
      fc.string({ minLength: 1, maxLength: 8 }),
      fc.double({ min: 1, max: 1e9, noNaN: true }),
      fc.double({ min: 0, max: 100, noNaN: true }),
    ),
    { minLength: 2, maxLength: 12 },
  );
  fc.assert(
    fc.property(points, (given) => {
      const chart = scatterChart(input(given));
      for (const { x, y, left, right, top, bottom } of chart?.points ?? []) {
        for (const place of [x, left, right]) {
          expect(place).toBeGreaterThanOrEqual(0);
          expect(place).toBeLessThanOrEqual(100);
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

test('names of points that lie together stand below one another', () => {
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
