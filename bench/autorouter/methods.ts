import {
  calibrate,
  emptyState,
  learnAll,
  type Example,
  type RoutingPolicy,
  type RouterState,
} from '#inside/autorouter/engine/index';
import { appraise, type Candidate } from '#inside/autorouter/engine/appraise';
import { mean, type Belief } from './curve';
import type { DataSet, Row } from './data';
import { shuffled } from './random';

/** Learns from some rows, and then believes something of every further one. */
export type Method = (set: DataSet, train: readonly Row[], random: () => number) => (row: Row) => Belief;

/** All of the traffic is of one day: nothing decays. */
export const NOW = Date.UTC(2026, 0, 1);
const NANO = 1e9;

export const candidatesOf = ({ models, rates }: DataSet): Candidate[] =>
  models.map((model, index) => ({
    model,
    provider: `provider-${index % 3}`,
    inputRate: (rates[index]?.[0] ?? 0) * NANO,
    outputRate: (rates[index]?.[1] ?? 0) * NANO,
  }));

export const exampleOf = (set: DataSet, row: Row, models = set.models.map((_, index) => index)): Example => ({
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

export function trained(set: DataSet, train: readonly Row[]): RouterState {
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

/** The router itself, its gates open, so that the dial alone makes the curve. */
export const beliefOf = (set: DataSet, state: RouterState): ((row: Row) => Belief) => {
  const candidates = candidatesOf(set);
  return ({ features }) => {
    const appraisal = appraise(state, { features, candidates, policy: policyOf(noGates), now: NOW }, noGates);
    return {
      quality: appraisal.candidates.map(({ quality }) => quality),
      cost: appraisal.candidates.map(({ cost }) => cost / NANO),
    };
  };
};

export const router: Method = (set, train) => beliefOf(set, trained(set, train));

/** The control: the same router, taught with scores of other prompts. It may learn which models are good, not when. */
export const shuffledLabels: Method = (set, train, random) => {
  const others = shuffled(train, random);
  return router(
    set,
    train.map((row, at) => ({ ...row, scores: others[at]?.scores ?? row.scores })),
    random,
  );
};

/** A mean of each task and length, shrunk to the mean of all. */
export const taskBuckets: Method = (set, train) => {
  const cost = usualCosts(set, train);
  const all = set.models.map((_, model) => mean(train.map(({ scores }) => scores[model] ?? 0)));
  const buckets = Map.groupBy(train, ({ features }) => features.bucket);
  const means = new Map(
    [...buckets].map(([bucket, rows]) => [
      bucket,
      all.map((usual, model) =>
        shrunk(
          rows.map(({ scores }) => scores[model] ?? 0),
          usual,
        ),
      ),
    ]),
  );
  return (row) => ({ quality: means.get(row.features.bucket) ?? all, cost: cost(row) });
};

/** Mean of the nearest remembered prompts, by the words alone. */
export const nearest: Method = (set, train) => {
  const cost = usualCosts(set, train);
  const { memory } = trained(set, train);
  const all = set.models.map((_, model) => mean(train.map(({ scores }) => scores[model] ?? 0)));
  return (row) => {
    const near = memory.nearest(row.features);
    const full = Math.max(near[0]?.similarity ?? 0, 0.35);
    const quality = set.models.map((model, index) => {
      const scores = memory.scores.get(model);
      const weight = near.reduce((sum, { similarity }) => sum + similarity / full, 0);
      const scored = near.reduce(
        (sum, { slot, similarity }) => sum + (similarity / full) * (scores?.[slot] ?? 0),
        0,
      );
      return (scored + 20 * (all[index] ?? 0)) / (weight + 20);
    });
    return { quality, cost: cost(row) };
  };
};

const SHRINK = 20;
const shrunk = (values: readonly number[], usual: number): number =>
  (values.reduce((sum, value) => sum + value, 0) + SHRINK * usual) / (values.length + SHRINK);

function usualCosts(set: DataSet, train: readonly Row[]): (row: Row) => number[] {
  const tokensOut = set.models.map((_, model) => mean(train.map((row) => row.tokensOut[model] ?? 0)));
  return (row) =>
    set.rates.map(
      ([inRate, outRate], model) =>
        (row.features.counters.tokens * inRate + (tokensOut[model] ?? 0) * outRate) / 1e6,
    );
}
