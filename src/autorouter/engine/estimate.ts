import type { Features } from './features';
import { linearScore, PRIOR_WEIGHT } from './linear';
import type { RouterState } from './state';
import { HALF_LIFE_MS, type ModelStatistics, sinceChange } from './statistics';

const BUCKET_WEIGHT = 20;
const BASE_WEIGHT = 20;
const BUCKET_SHARE = 0.4;
/** A best neighbour that is hardly similar is not taken for more than it is. */
const FULL_SIMILARITY = 0.35;
const TOKENS_WEIGHT = 20;
/** A model of which nothing is known writes so many tokens. */
const USUAL_TOKENS_OUT = 300;

/** The router believes this of one model for one request. */
export interface Estimate {
  /** It goes from 0 to 1. */
  readonly quality: number;
  /** The same without looking at the request. */
  readonly generalQuality: number;
  /** It is the standard deviation of the belief. */
  readonly doubt: number;
  /** The belief is worth this many scored answers. */
  readonly evidence: number;
  /** The same over all requests. */
  readonly judged: number;
  readonly tokensOut: number;
  readonly latencyMs?: number;
}

export interface Familiarity {
  /** It is that of the nearest remembered request, from 0 to 1. */
  readonly similarity: number;
  readonly neighbours: readonly Weighed[];
}

/** A remembered request and what its scores count for the request at hand. */
interface Weighed {
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

/** It goes from the general to the particular: what little is known of the particular leans on the general. */
export function estimate(
  state: RouterState,
  features: Pick<Features, 'bucket' | 'structure'>,
  { neighbours }: Familiarity,
  { model, prior }: { model: string; prior: number },
): Estimate {
  const statistics = state.models.get(model);
  const all = statistics?.all ?? nothing;
  const bucket = statistics?.buckets.get(features.bucket) ?? nothing;
  const general = (all.scored + PRIOR_WEIGHT * prior) / (all.weight + PRIOR_WEIGHT);
  const inBucket = (bucket.scored + BUCKET_WEIGHT * general) / (bucket.weight + BUCKET_WEIGHT);
  const linear =
    statistics === undefined ? general : linearScore(statistics.linear, features.structure, prior);
  const base = BUCKET_SHARE * inBucket + (1 - BUCKET_SHARE) * linear;
  const near = scoreNear(state.memory.scores.get(model), neighbours, statistics);
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
  scores: Float32Array | undefined,
  neighbours: readonly Weighed[],
  statistics: ModelStatistics | undefined,
): { weight: number; scored: number } {
  const near = { weight: 0, scored: 0 };
  if (scores === undefined || statistics === undefined) return near;
  for (const { slot, at, weight } of neighbours) {
    const score = scores[slot] ?? NaN;
    if (Number.isNaN(score)) continue;
    const counted = weight * sinceChange(statistics, at);
    near.weight += counted;
    near.scored += counted * score;
  }
  return near;
}

function latencyOf(statistics: ModelStatistics | undefined): { latencyMs?: number } {
  const { weight = 0, logarithms = 0 } = statistics?.latency ?? {};
  return weight > 0 ? { latencyMs: Math.exp(logarithms / weight) } : {};
}
