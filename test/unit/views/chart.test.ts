import fc from 'fast-check';
import { barChart, lineChart, meter, slotOf, spark, type ChartInput } from '../../../src/views';
import { niceScale } from '../../../src/views/components/chart';

const chartInput = (values: number[][]): ChartInput => ({
  title: 'Spend',
  labels: (values[0] ?? []).map((_, index) => `day ${index + 1}`),
  series: values.map((series, index) => ({ name: `model ${index + 1}`, values: series })),
  format: (value) => `$${value}`,
  totalLabel: 'Total',
  pointLabel: 'Day',
});

const amounts = fc.double({ min: 0, max: 1e9, noNaN: true });
const figures = fc
  .integer({ min: 1, max: 40 })
  .chain((points) =>
    fc.array(fc.array(amounts, { minLength: points, maxLength: points }), { minLength: 1, maxLength: 8 }),
  );

test('scale covers the maximum with few round steps', () => {
  fc.assert(
    fc.property(fc.double({ min: 1e-6, max: 1e12, noNaN: true }), (maximum) => {
      const scale = niceScale(maximum);
      expect(scale[0]).toBe(0);
      expect(scale.at(-1)).toBeGreaterThanOrEqual(maximum * (1 - 1e-8));
      expect(scale.length).toBeGreaterThanOrEqual(2);
      expect(scale.length).toBeLessThanOrEqual(6);
      expect(String(scale[1]?.toExponential()).charAt(0)).toMatch(/[125]/);
    }),
  );
});

test('scale covers a value just above one of its lines', () => {
  expect(niceScale(0.4004004004004005)).toEqual([0, 0.2, 0.4, 0.6]);
  expect(niceScale(0.3)).toEqual([0, 0.1, 0.2, 0.3]);
});

test.each([0, -1, Number.NaN])('scale for %s is valid', (maximum) => {
  expect(niceScale(maximum)).toEqual([0, 1]);
});

test('every bar is inside the plot and overlaps no other', () => {
  fc.assert(
    fc.property(figures, (values) => {
      const { bars } = barChart(chartInput(values));
      for (const bar of bars) {
        expect(bar.height).toBeGreaterThan(0);
        expect(bar.y).toBeGreaterThanOrEqual(0);
        expect(bar.y + bar.height).toBeLessThanOrEqual(180.05);
        expect(bar.x).toBeGreaterThanOrEqual(0);
        expect(bar.x + bar.width).toBeLessThanOrEqual(1000.05);
      }
      const columns = Map.groupBy(bars, ({ x }) => x);
      for (const column of columns.values()) {
        column.slice(1).forEach((bar, index) => {
          expect(bar.y + bar.height).toBeLessThanOrEqual((column[index]?.y ?? 0) + 0.05);
        });
      }
    }),
  );
});

test('stacked bars reach the height of their sum', () => {
  const { bars, scale } = barChart(chartInput([[2], [1], [1]]));
  expect(scale[0]).toBe('$4');
  expect(bars.map(({ height }) => height)).toEqual([89, 44, 44]);
  expect(bars.map(({ slot }) => slot)).toEqual([1, 2, 3]);
});

test('table next to a chart contains every figure and the sums', () => {
  const { table, readouts } = barChart(
    chartInput([
      [2, 3],
      [1, 0],
    ]),
  );
  expect(table.rows.map(({ cells }) => cells.map(({ value }) => value))).toEqual([
    ['day 1', '$2', '$1', '$3'],
    ['day 2', '$3', '$0', '$3'],
  ]);
  expect(readouts).toEqual(['day 1: model 1 $2 · model 2 $1', 'day 2: model 1 $3 · model 2 $0']);
});

test('line has a point per label, with the highest value at the top', () => {
  const { lines, axis, last } = lineChart(chartInput([[0, 5, 10]]));
  expect(lines[0]?.points.split(' ').map((point) => Number(point.split(',')[1]))).toEqual([180, 90, 0]);
  expect(axis).toEqual(['day 1', 'day 2', 'day 3']);
  expect(last).toBe(2);
});

test('chart without data is an empty chart', () => {
  const emptyChart = barChart(chartInput([[]]));
  expect(emptyChart).toMatchObject({ bars: [], last: 0, axis: [], readouts: [] });
  expect(spark([])).toEqual({ points: '' });
});

test('model keeps its colour, and the last slot is reserved for the rest', () => {
  fc.assert(
    fc.property(fc.string(), (name) => {
      expect(slotOf(name)).toBe(slotOf(name));
      expect(slotOf(name)).toBeGreaterThanOrEqual(1);
      expect(slotOf(name)).toBeLessThanOrEqual(7);
    }),
  );
  expect(new Set(['claude-sonnet', 'gpt-large', 'mistral-medium'].map(slotOf)).size).toBeGreaterThan(1);
});

test.each([
  [0n, 100n, 0, 'neutral'],
  [79n, 100n, 79, 'neutral'],
  [80n, 100n, 80, 'warn'],
  [100n, 100n, 100, 'bad'],
  [250n, 100n, 100, 'bad'],
  [0n, 0n, 100, 'bad'],
  [-5n, 100n, 0, 'neutral'],
  [999_999_999_999_999_999n, 1_000_000_000_000_000_000n, 99, 'warn'],
])('meter of %s of %s is %s per cent full, %s', (used, limit, filled, tone) => {
  expect(meter({ label: 'Budget', used, limit, text: '' })).toMatchObject({ filled, tone });
});

test('axis of counts has no lines between integers', () => {
  expect(barChart({ ...chartInput([[0, 1]]), isCount: true }).scale).toEqual(['$1', '$0']);
  expect(barChart({ ...chartInput([[0, 3]]), isCount: true }).scale).toEqual(['$3', '$2', '$1', '$0']);
});
