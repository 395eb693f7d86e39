import { setImmediate as nextTurn } from 'node:timers/promises';
import { calibrationBins, type CalibrationBin, calibrationError } from './calibration';
import {
  comparePairs,
  discoveries,
  type Interval,
  LEAST_SAMPLE,
  lengthControlled,
  type LengthPair,
  meanOf,
  shareOf,
} from '../../kernel';

/** A report needs these of a score row. */
export interface ScoredAnswer {
  readonly requestId: string;
  readonly model: string;
  readonly role: 'served' | 'replay';
  /** In the reader's zone, as is the Monday of its week. */
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

interface Difference extends Interval {
  readonly pairs: number;
  /** It stands when all differences of the report are taken together. */
  readonly isSignificant: boolean;
  readonly lengthControlled: Interval | null;
}

export interface ModelReport {
  readonly model: string;
  readonly count: number;
  /** It is null where data are not enough. */
  readonly mean: Interval | null;
  /** It is the cost of an answer in nano-USD; null means not enough data. */
  readonly cost: Interval | null;
  /** It is against the reference; null for the reference itself and where there are not enough pairs. */
  readonly difference: Difference | null;
  readonly wins: number;
  readonly ties: number;
  readonly losses: number;
}

/** It is one model for one kind of request. */
interface BucketReport {
  readonly bucket: string;
  readonly model: string;
  readonly count: number;
  /** Null: not enough data, as are the next ones. */
  readonly mean: Interval | null;
  /** It is the cost of an answer, in nano-USD. */
  readonly cost: Interval | null;
  readonly latencyMs: Interval | null;
}

interface TrendPoint {
  readonly week: string;
  readonly count: number;
  readonly mean: Interval;
}

/** Scores of one judge and one rubric: others are another report, and never in one average with these. */
export interface QualityReport {
  readonly judgeVersion: string;
  readonly rows: number;
  readonly reference: string | null;
  readonly models: readonly ModelReport[];
  /** The kinds with the most answers first. */
  readonly buckets: readonly BucketReport[];
  readonly trend: readonly TrendPoint[];
  readonly calibration: {
    readonly bins: readonly CalibrationBin[];
    readonly error: Interval | null;
    /** The model expected to be best was as good as the best so often; null where too few were compared. */
    readonly accuracy: Interval | null;
    readonly compared: number;
  };
}

/** One report a judge version, the latest first. Other work of the node has its turn meanwhile. */
export async function reportsOf(
  rows: readonly ScoredAnswer[],
  reference: string | null,
): Promise<QualityReport[]> {
  const versions = Map.groupBy(rows, ({ judgeVersion }) => judgeVersion);
  const sorted = [...versions].sort(([, one], [, other]) => lastDay(other).localeCompare(lastDay(one)));
  const reports: QualityReport[] = [];
  for (const [judgeVersion, within] of sorted) reports.push(await reportOf(judgeVersion, within, reference));
  return reports;
}

/** The latest report that has figures of two models or more; where none has, the latest. */
export const usableReport = (reports: readonly QualityReport[]): QualityReport | null =>
  reports.find(({ models }) => models.filter(({ mean }) => mean !== null).length > 1) ?? reports[0] ?? null;

async function reportOf(
  judgeVersion: string,
  rows: readonly ScoredAnswer[],
  wanted: string | null,
): Promise<QualityReport> {
  await nextTurn();
  const models = Map.groupBy(rows, ({ model }) => model);
  const reference = wanted !== null && models.has(wanted) ? wanted : mostScored(models);
  const differences = await differencesOf(models, reference);
  const reports: ModelReport[] = [];
  for (const [model, within] of models) {
    reports.push(modelReport(model, within, differences.get(model) ?? null));
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
  within: readonly ScoredAnswer[],
  difference: Difference | null,
): ModelReport => ({
  model,
  count: within.length,
  mean: meanOf(within.map(weighted)),
  cost: meanOf(within.map(({ costNano, weight }) => ({ value: costNano, weight }))),
  difference,
  wins: within.filter(({ preference }) => preference === 'b').length,
  ties: within.filter(({ preference }) => preference === 'tie' || preference === 'inconsistent').length,
  losses: within.filter(({ preference }) => preference === 'a').length,
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

/** All models count that have enough pairs with the reference; which of them stand is decided by all together. */
async function differencesOf(
  models: ReadonlyMap<string, readonly ScoredAnswer[]>,
  reference: string | null,
): Promise<ReadonlyMap<string, Difference>> {
  const ofReference = new Map(
    (models.get(reference ?? '') ?? []).map((row) => [row.requestId, row] as const),
  );
  const compared: { model: string; chance: number; difference: Omit<Difference, 'isSignificant'> }[] = [];
  for (const [model, rows] of models) {
    if (model === reference) continue;
    const found = pairsOf(rows, ofReference);
    await nextTurn();
    const comparison = await comparePairs(found);
    if (comparison === null) continue;
    const { interval, chance } = comparison;
    const difference = { ...interval, pairs: found.length, lengthControlled: lengthControlled(found) };
    compared.push({ model, chance, difference });
  }
  const stands = discoveries(compared.map(({ chance }) => chance));
  return new Map(
    compared.map(({ model, difference }, place) => [
      model,
      { ...difference, isSignificant: stands[place] === true },
    ]),
  );
}

/** Both models answered these requests. */
const pairsOf = (
  rows: readonly ScoredAnswer[],
  ofReference: ReadonlyMap<string, ScoredAnswer>,
): LengthPair[] =>
  rows.flatMap((row) => {
    const other = ofReference.get(row.requestId);
    if (other === undefined) return [];
    const lengthRatio = Math.log((row.length + 1) / (other.length + 1));
    return [{ value: row.total - other.total, weight: row.weight, lengthRatio }];
  });

const MOST_BUCKETS = 60;

function bucketsOf(rows: readonly ScoredAnswer[]): BucketReport[] {
  const buckets = Map.groupBy(rows, ({ bucket }) => bucket);
  return [...buckets]
    .sort(([, one], [, other]) => other.length - one.length)
    .flatMap(([bucket, within]) =>
      [...Map.groupBy(within, ({ model }) => model)]
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
    .slice(0, MOST_BUCKETS);
}

/** It shows what was served; weeks with too few rows are left out and not guessed. */
function trendOf(rows: readonly ScoredAnswer[]): TrendPoint[] {
  const weeks = Map.groupBy(
    rows.filter(({ role }) => role === 'served'),
    ({ week }) => week,
  );
  return [...weeks]
    .sort(([one], [other]) => one.localeCompare(other))
    .flatMap(([week, within]) => {
      const mean = meanOf(within.map(weighted));
      return mean === null ? [] : [{ week, count: within.length, mean }];
    });
}

/** It checks predictions that were made before their scores were learned. */
async function calibrationOf(rows: readonly ScoredAnswer[]): Promise<QualityReport['calibration']> {
  const predicted = rows.flatMap(({ requestId, predicted, total }) =>
    predicted === null ? [] : [{ requestId, predicted, observed: total / 100 }],
  );
  await nextTurn();
  const requests = [...Map.groupBy(predicted, ({ requestId }) => requestId).values()].filter(
    (answers) => answers.length > 1,
  );
  await nextTurn();
  const right = requests.filter((answers) => {
    const expected = answers.reduce((best, row) => (row.predicted > best.predicted ? row : best));
    return answers.every(({ observed }) => observed <= expected.observed);
  });
  return {
    bins: predicted.length < LEAST_SAMPLE ? [] : calibrationBins(predicted),
    error: calibrationError(predicted),
    accuracy: shareOf(right.length, requests.length),
    compared: requests.length,
  };
}
