import {
  appraise,
  type Appraisal,
  type AppraisedCandidate,
  type Candidate,
  type RoutingQuery,
  referenceOf,
} from './appraise';
import type { DecisionReason, ExplainedCandidate, Explanation } from './explanation';
import { type NoveltyGate, type Tuning, tuningOf } from './policy';
import { MIN_JUDGED_PER_MODEL, readiness } from './readiness';
import type { RouterState } from './state';

const SWITCH_MARGIN = 0.05;
const DRIFT_Z = 1.5;
const SIMILAR_QUALITY = 0.01;
const MAX_EXPLAINED = 8;
const MAX_FALLBACKS = 8;

export interface ChosenDecision {
  readonly kind: 'chosen';
  readonly chosen: string;
  readonly fallbackOrder: readonly string[];
  readonly unfamiliar: boolean;
  readonly explanation: Explanation;
}

/**
 * `tool_call_model_gone`: the model that made a tool call is no candidate, and no other is allowed to read the result.
 */
export interface NoneChosen {
  readonly kind: 'none';
  readonly reason: 'no_candidate' | 'tool_call_model_gone';
  readonly excluded: Readonly<Record<string, number>>;
}

export type Decision = ChosenDecision | NoneChosen;

interface ModelPick {
  readonly pick: AppraisedCandidate;
  readonly reason: DecisionReason;
}

export function decide(state: RouterState, query: RoutingQuery): Decision {
  const { policy, session } = query;
  const tuning = withCaution(policy.tuning ?? tuningOf(policy.dial), query);
  const appraisal = appraise(state, query, tuning);
  const excluded = { ...query.excluded };
  count(excluded, 'max_cost', query.candidates.length - appraisal.candidates.length);
  const requiredModel = session?.betweenToolCallAndResult === true ? session.model : undefined;
  const pool =
    requiredModel === undefined
      ? appraisal.candidates
      : appraisal.candidates.filter(({ model }) => model === requiredModel);
  // The reference comes from all candidates, as the caller of a tool would otherwise be compared with itself.
  const reference = referenceOf(appraisal.candidates, policy.referenceModel);
  const [first] = pool;
  if (reference === undefined || first === undefined) {
    const isToolCallModelGone = requiredModel !== undefined && appraisal.candidates.length > 0;
    return { kind: 'none', reason: isToolCallModelGone ? 'tool_call_model_gone' : 'no_candidate', excluded };
  }
  const unfamiliar = isUnfamiliar(state, appraisal.similarity, tuning.novelty);
  const preferred =
    requiredModel === undefined
      ? pickPreferred(query, tuning, { pool, reference, unfamiliar, excluded })
      : { pick: first, reason: 'tool_result' as const, good: new Set(pool) };
  const sessionPick =
    requiredModel === undefined
      ? applySession(query, tuning, preferred, appraisal)
      : { ...preferred, sticky: 'kept' as const };
  const final = applyShadow(state, query, sessionPick, reference);
  // If the caller of the tool is unknown, no second model is allowed to read the result.
  const fallbacks =
    session?.betweenToolCallAndResult === true ? [] : failoverOrder(pool, final.pick, preferred.good);
  const fallbackOrder = fallbacks.map(({ model }) => model);
  const lastResort = fallbacks.filter((one) => !preferred.good.has(one)).length;
  const compared = pool.includes(reference) ? pool : [...pool, reference];
  const explanation = explain(state, query, {
    tuning,
    appraisal,
    weighed: compared,
    reference,
    stuck: sessionPick,
    final,
  });
  return {
    kind: 'chosen',
    chosen: final.pick.model,
    fallbackOrder,
    unfamiliar,
    explanation: {
      ...explanation,
      excluded,
      fallback_order: fallbackOrder,
      ...(lastResort > 0 && { last_resort: lastResort }),
    },
  };
}

const withCaution = (tuning: Tuning, { drift, pressure }: RoutingQuery): Tuning => ({
  kappa: tuning.kappa + Math.max(0, pressure?.raise ?? 0),
  z: drift === 'raised' || drift === 'reference' ? Math.max(DRIFT_Z, tuning.z) : tuning.z,
  novelty: tuning.novelty,
});

function isUnfamiliar({ calibration }: RouterState, similarity: number, gate: NoveltyGate): boolean {
  return calibration !== undefined && similarity < (gate === 'p50' ? calibration.p50 : calibration.p25);
}

/** The preferred model, and all candidates that are past their trial and good enough. */
interface PreferredPick extends ModelPick {
  readonly good: ReadonlySet<AppraisedCandidate>;
}

function pickPreferred(
  { policy, drift }: RoutingQuery,
  { novelty }: Tuning,
  input: {
    pool: readonly AppraisedCandidate[];
    reference: AppraisedCandidate;
    unfamiliar: boolean;
    excluded: Record<string, number>;
  },
): PreferredPick {
  const { pool, reference, unfamiliar, excluded } = input;
  // A model on trial is never chosen by prediction: only replays measure it.
  const ignoresScores = policy.algorithm === 'cheapest';
  const proven = pool.filter(
    (one) => ignoresScores || one === reference || one.judged >= MIN_JUDGED_PER_MODEL,
  );
  const goodEnough = proven.filter(({ quality, doubt }) => quality - doubt >= (policy.minQuality ?? 0));
  const good = new Set(goodEnough);
  const pickOf = (pick: AppraisedCandidate, reason: DecisionReason): PreferredPick => ({
    pick,
    reason,
    good,
  });
  if (pool.length === 1) return pickOf(reference, 'only_candidate');
  if (policy.algorithm === 'static') return pickOf(reference, 'algorithm_static');
  count(excluded, 'on_trial', pool.length - proven.length);
  count(excluded, 'min_quality', proven.length - goodEnough.length);
  if (goodEnough.length === 0)
    return pickOf(
      best(proven, ({ quality, doubt }) => quality - doubt),
      'quality_floor',
    );
  if (ignoresScores)
    return pickOf(
      best(goodEnough, ({ cost }) => -cost),
      'algorithm_cheapest',
    );
  if (policy.algorithm === 'best_quality')
    return pickOf(
      best(goodEnough, ({ quality }) => quality),
      'algorithm_best_quality',
    );
  if (drift === 'reference') return pickOf(reference, 'traffic_changed');
  if (unfamiliar && novelty !== 'off') return pickOf(reference, 'unfamiliar_request');
  const pick = best(goodEnough, ({ utility }) => utility);
  return pickOf(pick, reasonOf(pick, reference));
}

function reasonOf(pick: AppraisedCandidate, reference: AppraisedCandidate): DecisionReason {
  if (pick.model === reference.model) return 'reference_is_best';
  const better = pick.quality - reference.quality > SIMILAR_QUALITY;
  if (pick.cost >= reference.cost) return 'better_quality';
  return better ? 'better_quality_cheaper' : 'similar_quality_cheaper';
}

type StickyPick = ModelPick & { readonly sticky: 'kept' | 'new' | `broken:${string}` };

/** Keeps a session's model unless it cannot be chosen, or another is better by more than the lost cache costs. */
function applySession(
  { session, policy, drift }: RoutingQuery,
  { kappa }: Tuning,
  { good, ...preferred }: PreferredPick,
  { candidates, referenceCost }: Appraisal,
): StickyPick {
  if (session?.model === undefined || policy.algorithm === 'static') return { ...preferred, sticky: 'new' };
  const current = candidates.find(({ model }) => model === session.model);
  if (current === undefined) return { ...preferred, sticky: 'broken:no_candidate' };
  if (current.model === preferred.pick.model) return { ...preferred, sticky: 'kept' };
  if (!good.has(current)) return { ...preferred, sticky: 'broken:not_good' };
  if (drift === 'reference') return { ...preferred, sticky: 'broken:traffic_changed' };
  const lostCache = kappa * (current.cacheSaving / referenceCost);
  return preferred.pick.utility - current.utility > SWITCH_MARGIN + lostCache
    ? { ...preferred, sticky: 'broken:better_model' }
    : { pick: current, reason: 'session_kept', sticky: 'kept' };
}

/** The reference model answers while too little is learned, and in shadow mode. */
function applyShadow(
  state: RouterState,
  { policy, candidates }: RoutingQuery,
  sessionPick: StickyPick,
  reference: AppraisedCandidate,
): ModelPick & { readonly shadow: boolean } {
  if (sessionPick.reason === 'tool_result') return { ...sessionPick, shadow: false };
  if (policy.mode === 'shadow') return { pick: reference, reason: 'shadow_mode', shadow: true };
  if (policy.algorithm !== 'hkb-v1' && policy.algorithm !== 'best_quality')
    return { ...sessionPick, shadow: false };
  const models = candidates.map(({ model }) => model);
  return readiness(state, models).ready
    ? { ...sessionPick, shadow: false }
    : { pick: reference, reason: 'still_learning', shadow: true };
}

/** Good models come first, then those of other suppliers: a failure of one model often affects its whole supplier. */
function failoverOrder(
  pool: readonly AppraisedCandidate[],
  chosen: AppraisedCandidate,
  good: ReadonlySet<AppraisedCandidate>,
): readonly AppraisedCandidate[] {
  const sameProvider = ({ provider }: Candidate): number => (provider === chosen.provider ? 1 : 0);
  const notGood = (one: AppraisedCandidate): number => (good.has(one) ? 0 : 1);
  return pool
    .filter((one) => one !== chosen)
    .sort(
      (one, other) =>
        notGood(one) - notGood(other) ||
        sameProvider(one) - sameProvider(other) ||
        other.utility - one.utility,
    )
    .slice(0, MAX_FALLBACKS);
}

function explain(
  state: RouterState,
  { policy, session, features, drift = 'calm', pressure }: RoutingQuery,
  result: {
    tuning: Tuning;
    appraisal: Appraisal;
    weighed: readonly AppraisedCandidate[];
    reference: AppraisedCandidate;
    stuck: StickyPick;
    final: ModelPick & { shadow: boolean };
  },
): Omit<Explanation, 'excluded' | 'fallback_order' | 'last_resort'> {
  const { tuning, appraisal, weighed, reference, stuck, final } = result;
  return {
    alg: policy.algorithm,
    state_version: state.version,
    mode: final.shadow ? 'shadow' : policy.mode,
    policy: {
      level: policy.level,
      dial: policy.dial,
      kappa: round(tuning.kappa),
      z: tuning.z,
      novelty: tuning.novelty,
      min_quality: policy.minQuality ?? null,
      max_cost: policy.maxCostPerRequest ?? null,
    },
    pacing:
      pressure === undefined
        ? null
        : { ...pressure, projected: round(pressure.projected), raise: round(pressure.raise) },
    session:
      session === undefined
        ? null
        : { source: session.source, sticky: stuck.sticky, since: session.since ?? null },
    bucket: features.bucket,
    tokens_in: features.counters.tokens,
    novelty: round(1 - appraisal.similarity),
    neighbours: appraisal.neighbours,
    drift,
    ref: reference.model,
    ref_cost: Math.round(appraisal.referenceCost),
    ref_tokens_out: Math.round(reference.tokensOut),
    chosen: final.pick.model,
    would_have: final.shadow ? stuck.pick.model : null,
    reason: final.reason,
    quality_difference: round(stuck.pick.quality - reference.quality),
    cost_ratio: round(reference.cost === 0 ? 1 : stuck.pick.cost / reference.cost),
    candidates: explainCandidates(weighed, [stuck.pick, reference]),
  };
}

function explainCandidates(
  pool: readonly AppraisedCandidate[],
  always: readonly AppraisedCandidate[],
): ExplainedCandidate[] {
  const ranked = [...pool].sort((one, other) => other.utility - one.utility);
  const included = new Set([...new Set([...always, ...ranked])].slice(0, MAX_EXPLAINED));
  return ranked
    .filter((one) => included.has(one))
    .map(({ model, quality, doubt, evidence, cost, latencyMs, failure, utility }) => ({
      model,
      q: round(quality),
      lo: round(Math.max(0, quality - 1.96 * doubt)),
      hi: round(Math.min(1, quality + 1.96 * doubt)),
      n_eff: Math.round(evidence * 10) / 10,
      cost_est: Math.round(cost),
      lat_est: latencyMs === undefined ? null : Math.round(latencyMs),
      fail: round(failure),
      u: round(utility),
    }));
}

function best(
  candidates: readonly AppraisedCandidate[],
  scoreOf: (one: AppraisedCandidate) => number,
): AppraisedCandidate {
  return candidates.reduce((chosen, one) => (scoreOf(one) > scoreOf(chosen) ? one : chosen));
}

function count(excluded: Record<string, number>, reason: string, add: number): void {
  if (add > 0) excluded[reason] = (excluded[reason] ?? 0) + add;
}

const round = (value: number): number => Math.round(value * 10_000) / 10_000;
