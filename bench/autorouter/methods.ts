import {
  calibrate,
  emptyState,
  learnAll,
  type Example,
  type RoutingPolicy,
  type RouterState,
} from '#inside/autorouter/engine/index';
import { appraise, type Candidate } from '#inside/autorouter/engine/appraise';
import { mean, type ModelPrediction } from './curve';
import type { DataSet, PromptRow } from './data';
import { shuffled } from './random';

/** Learns from training rows and returns a predictor for other rows. */
export type Method = (
  set: DataSet,
  train: readonly PromptRow[],
  random: () => number,
) => (row: PromptRow) => ModelPrediction;

/** All traffic is from one day, so nothing decays. */
export const NOW = Date.UTC(2026, 0, 1);
const NANO = 1e9;

export const candidatesOf = ({ models, rates }: DataSet): Candidate[] =>
  models.map((model, index) => ({
    model,
    provider: `provider-${index % 3}`,
    inputRate: (rates[index]?.[0] ?? 0) * NANO,
    outputRate: (rates[index]?.[1] ?? 0) * NANO,
  }));

export const exampleOf = (
  set: DataSet,
  row: PromptRow,
  models = set.models.map((_, index) => index),
): Example => ({
  id: row.id,
  at: NOW,
  weight: 1,
  bucket: row.features.bucket,
  tokensIn: row.features.counters.tokens,
  structure: row.features.structure,
  hashes: row.features.hashes,
  counts: row.features.counts,
  outcomes: models.map((index) => ({
    model: set.models[index] ?? '',
    score: row.scores[index] ?? 0,
    tokensOut: row.tokensOut[index] ?? 0,
  })),
});

export function trainRouter(set: DataSet, train: readonly PromptRow[]): RouterState {
  const state = emptyState();
  learnAll(
    state,
    train.map((row) => exampleOf(set, row)),
  );
  calibrate(state);
  return state;
}

export const policyOf = (tuning: RoutingPolicy['tuning'], referenceModel?: string): RoutingPolicy => ({
  algorithm: 'hkb-v1',
  mode: 'on',
  dial: 5,
  level: 'platform',
  ...(tuning === undefined ? {} : { tuning }),
  ...(referenceModel === undefined ? {} : { referenceModel }),
});

const noGates = { kappa: 0, z: 0, novelty: 'off' } as const;

/** The router with its gates open, so that only the dial shapes the curve. */
export const predictorOf = (set: DataSet, state: RouterState): ((row: PromptRow) => ModelPrediction) => {
  const candidates = candidatesOf(set);
  return ({ features }) => {
    const appraisal = appraise(state, { features, candidates, policy: policyOf(noGates), now: NOW }, noGates);
    return {
      quality: appraisal.candidates.map(({ quality }) => quality),
      cost: appraisal.candidates.map(({ cost }) => cost / NANO),
    };
  };
};

export const router: Method = (set, train) => predictorOf(set, trainRouter(set, train));

/** Control: the same router trained with scores of other prompts. Learns which models are good, but not when. */
export const shuffledLabels: Method = (set, train, random) => {
  const others = shuffled(train, random);
  return router(
    set,
    train.map((row, at) => ({ ...row, scores: others[at]?.scores ?? row.scores })),
    random,
  );
};

/** Mean per task and length, shrunk towards the overall mean. */
export const taskBuckets: Method = (set, train) => {
  const cost = meanCosts(set, train);
  const overallMeans = set.models.map((_, model) => mean(train.map(({ scores }) => scores[model] ?? 0)));
  const buckets = Map.groupBy(train, ({ features }) => features.bucket);
  const means = new Map(
    [...buckets].map(([bucket, rows]) => [
      bucket,
      overallMeans.map((usual, model) =>
        shrinkMean(
          rows.map(({ scores }) => scores[model] ?? 0),
          usual,
        ),
      ),
    ]),
  );
  return (row) => ({ quality: means.get(row.features.bucket) ?? overallMeans, cost: cost(row) });
};

/** Mean of the nearest stored prompts, by words only. */
export const nearest: Method = (set, train) => {
  const cost = meanCosts(set, train);
  const { memory } = trainRouter(set, train);
  const overallMeans = set.models.map((_, model) => mean(train.map(({ scores }) => scores[model] ?? 0)));
  return (row) => {
    const neighbours = memory.nearest(row.features);
    const full = Math.max(neighbours[0]?.similarity ?? 0, 0.35);
    const quality = set.models.map((model, index) => {
      const scores = memory.scores.get(model);
      const weight = neighbours.reduce((sum, { similarity }) => sum + similarity / full, 0);
      const weightedSum = neighbours.reduce(
        (sum, { slot, similarity }) => sum + (similarity / full) * (scores?.[slot] ?? 0),
        0,
      );
      return (weightedSum + 20 * (overallMeans[index] ?? 0)) / (weight + 20);
    });
    return { quality, cost: cost(row) };
  };
};

const SHRINK = 20;
const shrinkMean = (values: readonly number[], prior: number): number =>
  (values.reduce((sum, value) => sum + value, 0) + SHRINK * prior) / (values.length + SHRINK);

function meanCosts(set: DataSet, train: readonly PromptRow[]): (row: PromptRow) => number[] {
  const tokensOut = set.models.map((_, model) => mean(train.map((row) => row.tokensOut[model] ?? 0)));
  return (row) =>
    set.rates.map(
      ([inRate, outRate], model) =>
        (row.features.counters.tokens * inRate + (tokensOut[model] ?? 0) * outRate) / 1e6,
    );
}
