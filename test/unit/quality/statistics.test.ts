import fc from 'fast-check';
import { calibrationBins, calibrationError } from '../../../src/quality/report/calibration';
import {
  comparePairs,
  discoveries,
  MIN_SAMPLE_SIZE,
  lengthControlled,
  meanOf,
  quantileOf,
  shareOf,
} from '../../../src/kernel/statistics';
import { buildReports, type ScoredAnswer } from '../../../src/quality/report/quality-report';

const equallyWeighted = (values: readonly number[]) => values.map((value) => ({ value, weight: 1 }));
const ramp = (count: number, at: number, spread = 1): number[] =>
  Array.from({ length: count }, (_, place) => at + ((place % 5) - 2) * spread);
const scoredAnswer = (fields: Partial<ScoredAnswer>): ScoredAnswer => ({
  requestId: 'r',
  model: 'm',
  role: 'served',
  day: '2026-11-02',
  week: '2026-11-02',
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

describe('Quality figures', () => {
  test('are null below twenty rows', async () => {
    const tooFewRows = equallyWeighted(ramp(MIN_SAMPLE_SIZE - 1, 50));
    expect([meanOf(tooFewRows), await comparePairs(tooFewRows), calibrationError([])]).toEqual([
      null,
      null,
      null,
    ]);
    expect(meanOf(equallyWeighted(ramp(MIN_SAMPLE_SIZE, 50)))).not.toBeNull();
  });

  test("have the confidence interval of Student's t-distribution", () => {
    // Twenty values of mean 50 and variance 2·20/19: t(19) = 2.093.
    const mean = meanOf(equallyWeighted(ramp(20, 50)));
    const margin = (2.093 * Math.sqrt((2 * 20) / 19)) / Math.sqrt(20);
    expect(mean?.value).toBe(50);
    expect((mean?.high ?? 0) - 50).toBeCloseTo(margin, 2);
  });

  test('are within their interval for any weights', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.record({
            value: fc.double({ min: 0, max: 100, noNaN: true }),
            weight: fc.double({ min: 1, max: 50, noNaN: true }),
          }),
          { minLength: 20, maxLength: 60 },
        ),
        async (rows) => {
          for (const figure of [meanOf(rows), (await comparePairs(rows))?.interval]) {
            expect(figure?.low).toBeLessThanOrEqual((figure?.value ?? NaN) + 1e-6);
            expect(figure?.high).toBeGreaterThanOrEqual((figure?.value ?? NaN) - 1e-6);
          }
        },
      ),
      { numRuns: 30 },
    );
  });

  test('weight rows by the inverse of their sampling rate', () => {
    const rows = [...ramp(20, 80, 0), ...ramp(20, 20, 0)].map((value, place) => ({
      value,
      weight: place < 20 ? 50 : 1,
    }));
    expect(meanOf(rows)?.value).toBeCloseTo((80 * 50 + 20) / 51);
  });
});

test('difference in length explains exactly its share', () => {
  const pairs = Array.from({ length: 40 }, (_, place) => {
    const lengthRatio = (place % 9) / 4;
    return { value: 3 + 5 * lengthRatio, weight: 1, lengthRatio };
  });
  expect(lengthControlled(pairs)?.value).toBeCloseTo(3);
  expect(lengthControlled(pairs.map((pair) => ({ ...pair, lengthRatio: 1 })))).toBeNull();
});

describe('Confidence intervals', () => {
  test('cover the difference at equal length in about 95 % of cases', () => {
    let coveredCount = 0;
    let state = 7;
    const noise = (): number => (state = (state * 16_807) % 2_147_483_647) / 2_147_483_647 - 0.5;
    for (let iteration = 0; iteration < 400; iteration += 1) {
      const pairs = Array.from({ length: 60 }, () => {
        const lengthRatio = 0.4 + noise();
        return { value: 3 + 5 * lengthRatio + 6 * noise(), weight: 1, lengthRatio };
      });
      const { low, high } = lengthControlled(pairs) ?? { low: NaN, high: NaN };
      coveredCount += low <= 3 && high >= 3 ? 1 : 0;
    }
    expect(coveredCount / 400).toBeGreaterThan(0.91);
    expect(coveredCount / 400).toBeLessThan(0.985);
  });

  test('interval of a share matches a Wilson table', () => {
    expect(shareOf(19, 19)).toBeNull();
    const { value, low, high } = shareOf(15, 20)!;
    expect([value, low, high].map((share) => share.toFixed(3))).toEqual(['0.750', '0.531', '0.888']);
  });

  test('interval of a quantile exists if enough rows are beyond it', () => {
    const rows = equallyWeighted(Array.from({ length: 40 }, (_, place) => place + 1));
    expect(quantileOf(rows.slice(1, MIN_SAMPLE_SIZE), 0.5)).toBeNull();
    expect(quantileOf(rows, 0.5)).toEqual({ value: 20, low: 14, high: 27 });
    expect(quantileOf(rows, 0.95)).toBeNull();
    expect(quantileOf([...rows, ...rows], 0.95)).toMatchObject({ value: 38 });
    // Rows that represent more requests have more weight.
    expect(
      quantileOf(
        rows.map((row) => ({ ...row, weight: row.value > 30 ? 9 : 1 })),
        0.5,
      )?.value,
    ).toBe(34);
  });

  test('calibration bins with too few predictions have no interval', () => {
    const points = [
      ...Array.from({ length: 25 }, (_, place) => ({ predicted: 0.85, observed: 0.7 + (place % 5) / 100 })),
      { predicted: 0.15, observed: 0.9 },
    ];
    const [few, many] = calibrationBins(points);
    expect(few).toEqual({ count: 1, predicted: null, observed: null });
    expect(many).toMatchObject({ count: 25, observed: { value: expect.closeTo(0.72) } });
    const error = calibrationError(points)!;
    expect(error.value).toBeCloseTo((25 * 0.13 + 0.75) / 26);
    expect(error.low).toBeLessThan(error.value);
  });
});

describe('Large comparisons', () => {
  const pairs = Array.from({ length: 20_000 }, (_, place) => ({
    value: ((place * 7_919) % 101) / 10 - 4.9,
    weight: 1 + (place % 3),
  }));

  test('have the same difference as full resampling', async () => {
    const comparison = await comparePairs(pairs);
    const smallComparison = await comparePairs(pairs.slice(0, 1_000));
    const halfWidth = ({ low, high }: { low: number; high: number }) => (high - low) / 2;
    expect(comparison?.interval.value).toBeCloseTo(0.1, 1);
    // Twenty times the pairs narrow the interval by the square root of twenty.
    expect(halfWidth(smallComparison!.interval) / halfWidth(comparison!.interval)).toBeCloseTo(
      Math.sqrt(20),
      0,
    );
    expect(comparison?.chance).toBeLessThan(smallComparison?.chance ?? 0);
    expect(comparison?.chance).toBeGreaterThan(0);
  });

  test('yield to other work while the report of many models is built', async () => {
    const models = Array.from({ length: 8 }, (_, place) => `model-${place}`);
    const rows = Array.from({ length: 900 }, (_, place) => `request-${place}`).flatMap((requestId, request) =>
      models.map((model, place) =>
        scoredAnswer({ requestId, model, total: 50 + ((request * 7 + place * 13) % 40) }),
      ),
    );
    let turnCount = 0;
    let isRunning = true;
    const countTurn = (): void => {
      turnCount += 1;
      if (isRunning) setImmediate(countTurn);
    };
    setImmediate(countTurn);
    const [report] = await buildReports(rows, 'model-0');
    isRunning = false;
    expect(report?.models.filter(({ difference }) => difference !== null)).toHaveLength(7);
    // Each comparison makes 1,000 resamples of 900 pairs and yields after every 50,000 draws.
    expect(turnCount).toBeGreaterThan(7 * 16);
  });
});

describe('Multiple comparisons', () => {
  test('only results that are jointly significant are reported', () => {
    expect(discoveries([0.001, 0.02, 0.6, 0.09])).toEqual([true, true, false, false]);
    expect(discoveries([0.09])).toEqual([true]);
    expect(discoveries([0.09, 0.5])).toEqual([false, false]);
  });

  test('clear difference has a small p-value and no difference a large one', async () => {
    for (const count of [40, 4_000]) {
      expect((await comparePairs(equallyWeighted(ramp(count, 5))))?.chance).toBeLessThan(0.01);
      expect((await comparePairs(equallyWeighted(ramp(count, 0))))?.chance).toBeGreaterThan(0.5);
    }
  });
});

describe('Quality report', () => {
  const pairsOf = (judgeVersion: string, day: string, totals: readonly [number, number]) =>
    Array.from({ length: 30 }, (_, place) => `${judgeVersion}-${place}`).flatMap((requestId) => [
      scoredAnswer({ requestId, judgeVersion, day, model: 'reference', total: totals[0] }),
      scoredAnswer({
        requestId,
        judgeVersion,
        day,
        model: 'other',
        role: 'replay',
        total: totals[1],
        preference: 'b',
      }),
    ]);

  test('never mixes the scores of two judges', async () => {
    const reports = await buildReports(
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

  test('reports the difference between models and how often the other one won', async () => {
    const [report] = await buildReports(pairsOf('v', '2026-11-02', [80, 90]), 'reference');
    const otherModel = report?.models.find(({ model }) => model === 'other');
    expect(otherModel).toMatchObject({ wins: 30, ties: 0, losses: 0 });
    expect(otherModel?.difference).toMatchObject({ value: 10, pairs: 30, isSignificant: true });
    expect(report?.models.find(({ model }) => model === 'reference')?.difference).toBeNull();
  });

  test('reports no figures for too few rows', async () => {
    const [report] = await buildReports(pairsOf('v', '2026-11-02', [80, 90]).slice(0, 30), 'reference');
    for (const model of report?.models ?? []) expect(model).toMatchObject({ mean: null, difference: null });
    for (const bucket of report?.buckets ?? [])
      expect(bucket).toMatchObject({ mean: null, cost: null, latencyMs: null });
    expect(report).toMatchObject({ trend: [], calibration: { error: null, accuracy: null } });
  });

  test('measures predictions against scores that were unknown at the time', async () => {
    const rows = pairsOf('v', '2026-11-02', [80, 90]).map((row) => ({
      ...row,
      predicted: row.model === 'other' ? 0.9 : 0.6,
    }));
    const [report] = await buildReports(rows, 'reference');
    expect(report?.calibration).toMatchObject({ accuracy: { value: 1 }, compared: 30 });
    expect(report?.calibration.error?.value).toBeCloseTo(0.1);
  });
});
