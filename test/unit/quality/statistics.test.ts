import fc from 'fast-check';
import {
  calibrationError,
  differenceChance,
  discoveries,
  LEAST_SAMPLE,
  lengthControlled,
  meanOf,
  pairedDifference,
} from '../../../src/quality/report/statistics';
import { reportsOf, type ScoredAnswer } from '../../../src/quality/report/quality-report';

const even = (values: readonly number[]) => values.map((value) => ({ value, weight: 1 }));
const ramp = (count: number, at: number, spread = 1): number[] =>
  Array.from({ length: count }, (_, place) => at + ((place % 5) - 2) * spread);
const scored = (fields: Partial<ScoredAnswer>): ScoredAnswer => ({
  requestId: 'r',
  model: 'm',
  role: 'served',
  day: '2026-11-02',
  bucket: 'general/short',
  judgeVersion: 'v1',
  total: 50,
  weight: 1,
  length: 100,
  preference: null,
  predicted: null,
  costNano: 1_000,
  latencyMs: 100,
  ...fields,
});

describe('figures', () => {
  test('are not given below twenty rows', () => {
    const few = even(ramp(LEAST_SAMPLE - 1, 50));
    expect([meanOf(few), pairedDifference(few), calibrationError([])]).toEqual([null, null, null]);
    expect(meanOf(even(ramp(LEAST_SAMPLE, 50)))).not.toBeNull();
  });

  test('have an interval, as a table of Student has it', () => {
    // Twenty values of mean 50 and variance 2·20/19: t(19) = 2.093.
    const mean = meanOf(even(ramp(20, 50)));
    const margin = (2.093 * Math.sqrt((2 * 20) / 19)) / Math.sqrt(20);
    expect(mean?.value).toBe(50);
    expect((mean?.high ?? 0) - 50).toBeCloseTo(margin, 2);
  });

  test('lie within their interval, whatever the weights', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.record({
            value: fc.double({ min: 0, max: 100, noNaN: true }),
            weight: fc.double({ min: 1, max: 50, noNaN: true }),
          }),
          { minLength: 20, maxLength: 60 },
        ),
        (rows) => {
          for (const figure of [meanOf(rows), pairedDifference(rows)]) {
            expect(figure?.low).toBeLessThanOrEqual((figure?.value ?? NaN) + 1e-6);
            expect(figure?.high).toBeGreaterThanOrEqual((figure?.value ?? NaN) - 1e-6);
          }
        },
      ),
      { numRuns: 30 },
    );
  });

  test('weigh rows by how seldom such rows are sampled', () => {
    const rows = [...ramp(20, 80, 0), ...ramp(20, 20, 0)].map((value, place) => ({
      value,
      weight: place < 20 ? 50 : 1,
    }));
    expect(meanOf(rows)?.value).toBeCloseTo((80 * 50 + 20) / 51);
  });
});

test('a difference in length explains what it explains', () => {
  const pairs = Array.from({ length: 40 }, (_, place) => {
    const lengthRatio = (place % 9) / 4;
    return { value: 3 + 5 * lengthRatio, weight: 1, lengthRatio };
  });
  expect(lengthControlled(pairs)).toBeCloseTo(3);
  expect(lengthControlled(pairs.map((pair) => ({ ...pair, lengthRatio: 1 })))).toBeNull();
});

describe('of many comparisons', () => {
  test('only those stand that stand together', () => {
    expect(discoveries([0.001, 0.02, 0.6, 0.09])).toEqual([true, true, false, false]);
    expect(discoveries([0.09])).toEqual([true]);
    expect(discoveries([0.09, 0.5])).toEqual([false, false]);
  });

  test('a clear difference has hardly a chance, and none has a large one', () => {
    expect(differenceChance(even(ramp(40, 5)))).toBeLessThan(0.01);
    expect(differenceChance(even(ramp(40, 0)))).toBeGreaterThan(0.5);
  });
});

describe('a report', () => {
  const pairsOf = (judgeVersion: string, day: string, totals: readonly [number, number]) =>
    Array.from({ length: 30 }, (_, place) => `${judgeVersion}-${place}`).flatMap((requestId) => [
      scored({ requestId, judgeVersion, day, model: 'reference', total: totals[0] }),
      scored({
        requestId,
        judgeVersion,
        day,
        model: 'other',
        role: 'replay',
        total: totals[1],
        preference: 'b',
      }),
    ]);

  test('never mixes the scores of two judges', () => {
    const reports = reportsOf(
      [...pairsOf('old', '2026-10-05', [20, 30]), ...pairsOf('new', '2026-11-02', [80, 90])],
      'reference',
    );
    expect(reports.map(({ judgeVersion, rows }) => [judgeVersion, rows])).toEqual([
      ['new', 60],
      ['old', 60],
    ]);
    const means = reports.map(({ models }) => models.map(({ model, mean }) => [model, mean?.value]));
    expect(means).toEqual([
      [
        ['other', 90],
        ['reference', 80],
      ],
      [
        ['other', 30],
        ['reference', 20],
      ],
    ]);
  });

  test('says how far apart models are, and how often the other one won', () => {
    const [report] = reportsOf(pairsOf('v', '2026-11-02', [80, 90]), 'reference');
    const other = report?.models.find(({ model }) => model === 'other');
    expect(other).toMatchObject({ wins: 30, ties: 0, losses: 0 });
    expect(other?.difference).toMatchObject({ value: 10, pairs: 30, isSignificant: true });
    expect(report?.models.find(({ model }) => model === 'reference')?.difference).toBeNull();
  });

  test('says nothing of too few', () => {
    const [report] = reportsOf(pairsOf('v', '2026-11-02', [80, 90]).slice(0, 30), 'reference');
    for (const model of report?.models ?? []) expect(model).toMatchObject({ mean: null, difference: null });
    expect(report).toMatchObject({ trend: [], calibration: { error: null, accuracy: null } });
  });

  test('measures predictions against what they did not know yet', () => {
    const rows = pairsOf('v', '2026-11-02', [80, 90]).map((row) => ({
      ...row,
      predicted: row.model === 'other' ? 0.9 : 0.6,
    }));
    const [report] = reportsOf(rows, 'reference');
    expect(report?.calibration).toMatchObject({ accuracy: 1, compared: 30 });
    expect(report?.calibration.error).toBeCloseTo(0.1);
  });
});
