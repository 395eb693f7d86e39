import { setImmediate as nextTurn } from 'node:timers/promises';
import { calibrationBins, type CalibrationBin, calibrationError } from './calibration';
import {
  comparePairs,
  discoveries,
  type Interval,
  MIN_SAMPLE_SIZE,
  lengthControlled,
  type LengthPair,
  meanOf,
  shareOf,
} from '../../kernel';

export interface ScoredAnswer {
  readonly requestId: string;
  readonly model: string;
  readonly role: 'served' | 'replay';
  /** In the reader's time zone, like `week`, the Monday of its week. */
  readonly day: string;
  readonly week: string;
  readonly bucket: string;
  readonly judgeVersion: string;
  readonly total: number;
  readonly weight: number;
  readonly length: number;
  readonly preference: 'a' | 'b' | 'tie' | 'inconsistent' | null;
  readonly predicted: number | null;
  readonly costNano: number;
  readonly latencyMs: number;
}

interface ScoreDifference extends Interval {
  readonly pairs: number;
  /** Corrected for multiple comparisons across all differences of the report. */
  readonly isSignificant: boolean;
  readonly lengthControlled: Interval | null;
}

export interface ModelReport {
  readonly model: string;
  readonly count: number;
  /** Null if there is not enough data. */
  readonly mean: Interval | null;
  /** Cost per reply in nano-USD; null if there is not enough data. */
  readonly cost: Interval | null;
  /** Compared with the reference; null for the reference itself, and if there are not enough pairs. */
  readonly difference: ScoreDifference | null;
  readonly wins: number;
  readonly ties: number;
  readonly losses: number;
}

interface BucketReport {
  readonly bucket: string;
  readonly model: string;
  readonly count: number;
  /** Null if there is not enough data, as for the following ones. */
  readonly mean: Interval | null;
  /** Cost per reply in nano-USD. */
  readonly cost: Interval | null;
  readonly latencyMs: Interval | null;
}

interface TrendPoint {
  readonly week: string;
  readonly count: number;
  readonly mean: Interval;
}

/** Scores of one judge and one rubric, which are never averaged with those of another. */
export interface QualityReport {
  readonly judgeVersion: string;
  readonly rows: number;
  readonly reference: string | null;
  readonly models: readonly ModelReport[];
  /** The kinds with the most replies first. */
  readonly buckets: readonly BucketReport[];
  readonly trend: readonly TrendPoint[];
  readonly calibration: {
    readonly bins: readonly CalibrationBin[];
    readonly error: Interval | null;
    /**
     * Share of requests in which the model with the highest prediction was as good as the best; null if too few were
     * compared.
     */
    readonly accuracy: Interval | null;
    readonly compared: number;
  };
}

/** Builds one report per judge version, the latest first. Yields to other work of the node meanwhile. */
export async function buildReports(
  rows: readonly ScoredAnswer[],
  reference: string | null,
): Promise<QualityReport[]> {
  const versions = Map.groupBy(rows, ({ judgeVersion }) => judgeVersion);
  const sorted = [...versions].sort(([, one], [, other]) => lastDay(other).localeCompare(lastDay(one)));
  const reports: QualityReport[] = [];
  for (const [judgeVersion, versionRows] of sorted)
    reports.push(await buildReport(judgeVersion, versionRows, reference));
  return reports;
}

/** Returns the latest report with figures of two or more models; if there is none, the latest. */
export const usableReport = (reports: readonly QualityReport[]): QualityReport | null =>
  reports.find(({ models }) => models.filter(({ mean }) => mean !== null).length > 1) ?? reports[0] ?? null;

async function buildReport(
  judgeVersion: string,
  rows: readonly ScoredAnswer[],
  requestedReference: string | null,
): Promise<QualityReport> {
  await nextTurn();
  const models = Map.groupBy(rows, ({ model }) => model);
  const reference =
    requestedReference !== null && models.has(requestedReference) ? requestedReference : mostScored(models);
  const differences = await differencesOf(models, reference);
  const reports: ModelReport[] = [];
  for (const [model, modelRows] of models) {
    reports.push(modelReport(model, modelRows, differences.get(model) ?? null));
    await nextTurn();
  }
  const buckets = bucketsOf(rows);
  await nextTurn();
  const trend = trendOf(rows);
  await nextTurn();
  return {
    ...{ judgeVersion, rows: rows.length, reference, buckets, trend },
    models: reports.sort((one, other) => (other.mean?.value ?? -1) - (one.mean?.value ?? -1)),
    calibration: await calibrationOf(rows),
  };
}

const modelReport = (
  model: string,
  rows: readonly ScoredAnswer[],
  difference: ScoreDifference | null,
): ModelReport => ({
  model,
  count: rows.length,
  mean: meanOf(rows.map(weighted)),
  cost: meanOf(rows.map(({ costNano, weight }) => ({ value: costNano, weight }))),
  difference,
  wins: rows.filter(({ preference }) => preference === 'b').length,
  ties: rows.filter(({ preference }) => preference === 'tie' || preference === 'inconsistent').length,
  losses: rows.filter(({ preference }) => preference === 'a').length,
});

const weighted = ({ total, weight }: ScoredAnswer) => ({ value: total, weight });

const lastDay = (rows: readonly ScoredAnswer[]): string =>
  rows.reduce((last, { day }) => (day > last ? day : last), '');

function mostScored(models: ReadonlyMap<string, readonly ScoredAnswer[]>): string | null {
  const served = [...models].map(
    ([model, rows]) => [model, rows.filter(({ role }) => role === 'served').length] as const,
  );
  return served.sort(([, one], [, other]) => other - one)[0]?.[0] ?? null;
}

/** Compares all models that have enough pairs with the reference; significance is decided for all together. */
async function differencesOf(
  models: ReadonlyMap<string, readonly ScoredAnswer[]>,
  reference: string | null,
): Promise<ReadonlyMap<string, ScoreDifference>> {
  const referenceRows = new Map(
    (models.get(reference ?? '') ?? []).map((row) => [row.requestId, row] as const),
  );
  const compared: { model: string; chance: number; difference: Omit<ScoreDifference, 'isSignificant'> }[] =
    [];
  for (const [model, rows] of models) {
    if (model === reference) continue;
    const pairs = pairsOf(rows, referenceRows);
    await nextTurn();
    const comparison = await comparePairs(pairs);
    if (comparison === null) continue;
    const { interval, chance } = comparison;
    const difference = { ...interval, pairs: pairs.length, lengthControlled: lengthControlled(pairs) };
    compared.push({ model, chance, difference });
  }
  const significant = discoveries(compared.map(({ chance }) => chance));
  return new Map(
    compared.map(({ model, difference }, index) => [
      model,
      { ...difference, isSignificant: significant[index] === true },
    ]),
  );
}

const pairsOf = (
  rows: readonly ScoredAnswer[],
  referenceRows: ReadonlyMap<string, ScoredAnswer>,
): LengthPair[] =>
  rows.flatMap((row) => {
    const other = referenceRows.get(row.requestId);
    if (other === undefined) return [];
    const lengthRatio = Math.log((row.length + 1) / (other.length + 1));
    return [{ value: row.total - other.total, weight: row.weight, lengthRatio }];
  });

const MAX_BUCKETS = 60;

function bucketsOf(rows: readonly ScoredAnswer[]): BucketReport[] {
  const buckets = Map.groupBy(rows, ({ bucket }) => bucket);
  return [...buckets]
    .sort(([, one], [, other]) => other.length - one.length)
    .flatMap(([bucket, bucketRows]) =>
      [...Map.groupBy(bucketRows, ({ model }) => model)]
        .sort(([one], [other]) => one.localeCompare(other))
        .map(([model, answers]) => ({
          bucket,
          model,
          count: answers.length,
          mean: meanOf(answers.map(weighted)),
          cost: meanOf(answers.map(({ costNano, weight }) => ({ value: costNano, weight }))),
          latencyMs: meanOf(answers.map(({ latencyMs, weight }) => ({ value: latencyMs, weight }))),
        })),
    )
    .slice(0, MAX_BUCKETS);
}

/** Covers served replies; weeks with too few rows are left out rather than estimated. */
function trendOf(rows: readonly ScoredAnswer[]): TrendPoint[] {
  const weeks = Map.groupBy(
    rows.filter(({ role }) => role === 'served'),
    ({ week }) => week,
  );
  return [...weeks]
    .sort(([one], [other]) => one.localeCompare(other))
    .flatMap(([week, weekRows]) => {
      const mean = meanOf(weekRows.map(weighted));
      return mean === null ? [] : [{ week, count: weekRows.length, mean }];
    });
}

async function calibrationOf(rows: readonly ScoredAnswer[]): Promise<QualityReport['calibration']> {
  const predicted = rows.flatMap(({ requestId, predicted, total }) =>
    predicted === null ? [] : [{ requestId, predicted, observed: total / 100 }],
  );
  await nextTurn();
  const requests = [...Map.groupBy(predicted, ({ requestId }) => requestId).values()].filter(
    (answers) => answers.length > 1,
  );
  await nextTurn();
  const correct = requests.filter((answers) => {
    const expected = answers.reduce((best, row) => (row.predicted > best.predicted ? row : best));
    return answers.every(({ observed }) => observed <= expected.observed);
  });
  return {
    bins: predicted.length < MIN_SAMPLE_SIZE ? [] : calibrationBins(predicted),
    error: calibrationError(predicted),
    accuracy: shareOf(correct.length, requests.length),
    compared: requests.length,
  };
}
