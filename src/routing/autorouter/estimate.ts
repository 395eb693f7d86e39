import type { Features } from './features';
import { linearScore, PRIOR_WEIGHT } from './linear';
import type { Neighbour } from './memory';
import type { RouterState } from './state';
import { HALF_LIFE_MS, type ModelStatistics, sinceChange } from './statistics';

const BUCKET_WEIGHT = 20;
const BASE_WEIGHT = 20;
const BUCKET_SHARE = 0.4;
/** A best neighbour that is hardly similar is not taken for more than it is. */
const FULL_SIMILARITY = 0.35;
const TOKENS_WEIGHT = 20;
/** Output of a model of which nothing is known. */
const USUAL_TOKENS_OUT = 300;

/** What the router believes of one model for one request. */
export interface Estimate {
  /** 0 to 1. */
  readonly quality: number;
  /** The same without looking at the request. */
  readonly generalQuality: number;
  /** Standard deviation of the belief. */
  readonly doubt: number;
  /** How many scored answers the belief is worth. */
  readonly evidence: number;
  /** The same over all requests. */
  readonly judged: number;
  readonly tokensOut: number;
  readonly latencyMs?: number;
}

export interface Familiarity {
  /** Of the nearest remembered request, 0 to 1. */
  readonly similarity: number;
  readonly neighbours: readonly Neighbour[];
}

export function familiarity(state: RouterState, features: Pick<Features, 'hashes' | 'counts'>): Familiarity {
  const neighbours = state.memory.nearest(features);
  return { neighbours, similarity: neighbours[0]?.similarity ?? 0 };
}

/** From the general to the particular: what little is known of the particular leans on the general. */
export function estimate(
  state: RouterState,
  features: Pick<Features, 'bucket' | 'structure'>,
  { neighbours, similarity }: Familiarity,
  { model, prior, now }: { model: string; prior: number; now: number },
): Estimate {
  const statistics = state.models.get(model);
  const all = statistics?.all ?? nothing;
  const bucket = statistics?.buckets.get(features.bucket) ?? nothing;
  const general = (all.scored + PRIOR_WEIGHT * prior) / (all.weight + PRIOR_WEIGHT);
  const inBucket = (bucket.scored + BUCKET_WEIGHT * general) / (bucket.weight + BUCKET_WEIGHT);
  const linear =
    statistics === undefined ? general : linearScore(statistics.linear, features.structure, prior);
  const base = BUCKET_SHARE * inBucket + (1 - BUCKET_SHARE) * linear;
  const near = scoreNear(state, neighbours, { model, similarity, now, statistics });
  const quality = (near.scored + BASE_WEIGHT * base) / (near.weight + BASE_WEIGHT);
  const evidence = near.weight + Math.min(20, bucket.weight + Math.min(20, all.weight + PRIOR_WEIGHT));
  const tokensInGeneral = (all.tokens + TOKENS_WEIGHT * USUAL_TOKENS_OUT) / (all.weight + TOKENS_WEIGHT);
  return {
    quality,
    generalQuality: general,
    evidence,
    doubt: Math.sqrt((quality * (1 - quality)) / (evidence + 2)),
    judged: all.weight,
    tokensOut: (bucket.tokens + TOKENS_WEIGHT * tokensInGeneral) / (bucket.weight + TOKENS_WEIGHT),
    ...latencyOf(statistics),
  };
}

const nothing = { weight: 0, scored: 0, tokens: 0 };

function scoreNear(
  { memory }: RouterState,
  neighbours: readonly Neighbour[],
  asked: { model: string; similarity: number; now: number; statistics: ModelStatistics | undefined },
): { weight: number; scored: number } {
  const scores = memory.scores.get(asked.model);
  const near = { weight: 0, scored: 0 };
  if (scores === undefined || asked.statistics === undefined) return near;
  const full = Math.max(asked.similarity, FULL_SIMILARITY);
  for (const { slot, similarity } of neighbours) {
    const score = scores[slot] ?? NaN;
    const example = memory.examples[slot];
    if (Number.isNaN(score) || example === undefined) continue;
    const age = Math.max(0, asked.now - example.at);
    const weight =
      (similarity / full) *
      0.5 ** (age / HALF_LIFE_MS) *
      example.weight *
      sinceChange(asked.statistics, example.at);
    near.weight += weight;
    near.scored += weight * score;
  }
  return near;
}

function latencyOf(statistics: ModelStatistics | undefined): { latencyMs?: number } {
  const { weight = 0, logarithms = 0 } = statistics?.latency ?? {};
  return weight > 0 ? { latencyMs: Math.exp(logarithms / weight) } : {};
}
