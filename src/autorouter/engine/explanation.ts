import type { NoveltyGate, RouterAlgorithm } from './policy';

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
  readonly lo: number;
  readonly hi: number;
  readonly n_eff: number;
  /** In nano-USD. */
  readonly cost_est: number;
  readonly lat_est: number | null;
  readonly fail: number;
  readonly u: number;
}

/** The decision as stored in the request log: plain JSON of about a kilobyte. */
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
  /** The budget that presses towards cheaper models, as shares of it; `raise` is included in `kappa`. */
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
  /** 1 minus the similarity to the nearest remembered request. */
  readonly novelty: number;
  readonly neighbours: number;
  readonly drift: 'calm' | 'raised' | 'reference';
  readonly ref: string;
  /** Usual cost with the reference model in nano-USD; kappa is relative to it. */
  readonly ref_cost: number;
  /** Predicted length of the answer; missing in decisions of earlier versions. */
  readonly ref_tokens_out?: number;
  readonly chosen: string;
  readonly would_have: string | null;
  readonly reason: DecisionReason;
  /** Difference between the decision (in shadow mode, `would_have`) and the reference model. */
  readonly quality_difference: number;
  readonly cost_ratio: number;
  /** The best by utility, at most eight. */
  readonly candidates: readonly ExplainedCandidate[];
  readonly excluded: Readonly<Record<string, number>>;
  readonly fallback_order: readonly string[];
  /** Number of models at the end that could not have been chosen: on trial, or below the minimum quality. */
  readonly last_resort?: number;
}
