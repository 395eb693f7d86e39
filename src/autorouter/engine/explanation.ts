import type { NoveltyGate, RouterAlgorithm } from './policy';

/** Each reason for a choice has a sentence on the pages. */
export const DECISION_REASONS = [
  'only_candidate',
  'reference_is_best',
  'similar_quality_cheaper',
  'better_quality',
  'better_quality_cheaper',
  'quality_floor',
  'unfamiliar_request',
  'traffic_changed',
  'still_learning',
  'shadow_mode',
  'session_kept',
  'tool_result',
  'algorithm_static',
  'algorithm_cheapest',
  'algorithm_best_quality',
] as const;
export type DecisionReason = (typeof DECISION_REASONS)[number];

export interface ExplainedCandidate {
  readonly model: string;
  readonly q: number;
  /** The belief lies between these with 95 %. */
  readonly lo: number;
  readonly hi: number;
  readonly n_eff: number;
  /** It is in nano-USD. */
  readonly cost_est: number;
  readonly lat_est: number | null;
  /** The chance that its answer is no good. */
  readonly fail: number;
  readonly u: number;
}

/** The request log keeps this of a decision: plain JSON of about a kilobyte. */
export interface Explanation {
  readonly alg: RouterAlgorithm;
  readonly state_version: number;
  readonly mode: 'shadow' | 'on';
  readonly policy: {
    readonly level: string;
    readonly dial: number;
    readonly kappa: number;
    readonly z: number;
    readonly novelty: NoveltyGate;
    readonly min_quality: number | null;
    readonly max_cost: number | null;
  };
  /** The budget that presses towards cheaper models, as shares of it; `raise` is a part of `kappa`. */
  readonly pacing: {
    readonly budget: string;
    readonly period: string;
    readonly projected: number;
    readonly raise: number;
  } | null;
  readonly session: {
    readonly source: string;
    readonly sticky: 'kept' | 'new' | `broken:${string}`;
    readonly since: number | null;
  } | null;
  readonly bucket: string;
  readonly tokens_in: number;
  /** It is 1 less the similarity of the nearest remembered request. */
  readonly novelty: number;
  readonly neighbours: number;
  readonly drift: 'calm' | 'raised' | 'reference';
  readonly ref: string;
  /** A request usually costs this with the reference model, in nano-USD; kappa is measured by it. */
  readonly ref_cost: number;
  /** The answer was expected to be this long; decisions of earlier versions do not say. */
  readonly ref_tokens_out?: number;
  readonly chosen: string;
  /** In shadow, it is what would have answered. */
  readonly would_have: string | null;
  readonly reason: DecisionReason;
  /** It compares the decision (in shadow, `would_have`) with the reference model. */
  readonly quality_difference: number;
  readonly cost_ratio: number;
  /** The best by utility, at most eight. */
  readonly candidates: readonly ExplainedCandidate[];
  /** Counts by reason. */
  readonly excluded: Readonly<Record<string, number>>;
  readonly fallback_order: readonly string[];
  /** This many at the end could not have been chosen: on trial, or below the least quality. */
  readonly last_resort?: number;
}
