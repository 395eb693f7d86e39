import type { Features } from './features';
import { linearScore, PRIOR_WEIGHT } from './linear';
import type { RouterState } from './state';
import { HALF_LIFE_MS, type ModelStatistics, changeFactor } from './statistics';

const BUCKET_WEIGHT = 20;
const BASE_WEIGHT = 20;
const BUCKET_SHARE = 0.4;
/** Similarity that counts as full, so that a barely similar nearest neighbour is not overrated. */
const FULL_SIMILARITY = 0.35;
const TOKENS_WEIGHT = 20;
const DEFAULT_TOKENS_OUT = 300;

export interface Estimate {
  /** From 0 to 1. */
  readonly quality: number;
  readonly generalQuality: number;
  /** Standard deviation of the estimate. */
  readonly doubt: number;
  /** Number of scored answers that the estimate is worth. */
  readonly evidence: number;
  readonly judged: number;
  readonly tokensOut: number;
  readonly latencyMs?: number;
}

export interface Familiarity {
  readonly similarity: number;
  readonly neighbours: readonly WeightedNeighbour[];
}

interface WeightedNeighbour {
  readonly slot: number;
  readonly at: number;
  readonly weight: number;
}

export function familiarity(
  { memory }: RouterState,
  features: Pick<Features, 'hashes' | 'counts'>,
  now: number,
): Familiarity {
  const near = memory.nearest(features);
  const nearest = near[0]?.similarity ?? 0;
  const full = Math.max(nearest, FULL_SIMILARITY);
  const neighbours = near.map(({ slot, similarity }) => {
    const { at = 0, weight = 0 } = memory.examples[slot] ?? {};
    const age = Math.max(0, now - at);
    return { slot, at, weight: (similarity / full) * 0.5 ** (age / HALF_LIFE_MS) * weight };
  });
  return { neighbours, similarity: nearest };
}

/** Refines from the general to the particular: sparse particular data is smoothed towards the general. */
export function estimate(
  state: RouterState,
  features: Pick<Features, 'bucket' | 'structure'>,
  { neighbours }: Familiarity,
  { model, prior }: { model: string; prior: number },
): Estimate {
  const statistics = state.models.get(model);
  const all = statistics?.all ?? noStatistics;
  const bucket = statistics?.buckets.get(features.bucket) ?? noStatistics;
  const general = (all.scored + PRIOR_WEIGHT * prior) / (all.weight + PRIOR_WEIGHT);
  const inBucket = (bucket.scored + BUCKET_WEIGHT * general) / (bucket.weight + BUCKET_WEIGHT);
  const linear =
    statistics === undefined ? general : linearScore(statistics.linear, features.structure, prior);
  const base = BUCKET_SHARE * inBucket + (1 - BUCKET_SHARE) * linear;
  const near = scoreNear(state.memory.scores.get(model), neighbours, statistics);
  const quality = (near.scored + BASE_WEIGHT * base) / (near.weight + BASE_WEIGHT);
  const evidence = near.weight + Math.min(20, bucket.weight + Math.min(20, all.weight + PRIOR_WEIGHT));
  const tokensInGeneral = (all.tokens + TOKENS_WEIGHT * DEFAULT_TOKENS_OUT) / (all.weight + TOKENS_WEIGHT);
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

const noStatistics = { weight: 0, scored: 0, tokens: 0 };

function scoreNear(
  scores: Float32Array | undefined,
  neighbours: readonly WeightedNeighbour[],
  statistics: ModelStatistics | undefined,
): { weight: number; scored: number } {
  const near = { weight: 0, scored: 0 };
  if (scores === undefined || statistics === undefined) return near;
  for (const { slot, at, weight } of neighbours) {
    const score = scores[slot] ?? NaN;
    if (Number.isNaN(score)) continue;
    const counted = weight * changeFactor(statistics, at);
    near.weight += counted;
    near.scored += counted * score;
  }
  return near;
}

function latencyOf(statistics: ModelStatistics | undefined): { latencyMs?: number } {
  const { weight = 0, logarithms = 0 } = statistics?.latency ?? {};
  return weight > 0 ? { latencyMs: Math.exp(logarithms / weight) } : {};
}
