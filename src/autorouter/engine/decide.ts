import {
  appraise,
  type Appraisal,
  type Appraised,
  type Candidate,
  type Question,
  referenceOf,
} from './appraise';
import type { DecisionReason, ExplainedCandidate, Explanation } from './explanation';
import { type NoveltyGate, type Tuning, tuningOf } from './policy';
import { JUDGED_NEEDED_PER_MODEL, readiness } from './readiness';
import type { RouterState } from './state';

const SWITCH_MARGIN = 0.05;
const DRIFT_Z = 1.5;
const SIMILAR_QUALITY = 0.01;
const MOST_EXPLAINED = 8;
const MOST_FALLBACKS = 8;

/** The model that answers, who steps in for it in what order, and why. */
export interface Chosen {
  readonly kind: 'chosen';
  readonly chosen: string;
  readonly fallbackOrder: readonly string[];
  /** The request is unlike what is remembered; `noteFamiliarity` is told so. */
  readonly unfamiliar: boolean;
  readonly explanation: Explanation;
}

/** `tool_call_model_gone`: the model that made a tool call is no candidate, and no other may read the result. */
export interface NoneChosen {
  readonly kind: 'none';
  readonly reason: 'no_candidate' | 'tool_call_model_gone';
  readonly excluded: Readonly<Record<string, number>>;
}

export type Decision = Chosen | NoneChosen;

/** It is one pick and what led to it. */
interface Pick {
  readonly pick: Appraised;
  readonly reason: DecisionReason;
}

export function decide(state: RouterState, question: Question): Decision {
  const { policy, session } = question;
  const tuning = cautious(policy.tuning ?? tuningOf(policy.dial), question);
  const appraisal = appraise(state, question, tuning);
  const excluded = { ...question.excluded };
  count(excluded, 'max_cost', question.candidates.length - appraisal.candidates.length);
  const held = session?.betweenToolCallAndResult === true ? session.model : undefined;
  const pool =
    held === undefined ? appraisal.candidates : appraisal.candidates.filter(({ model }) => model === held);
  // It is not sought among those that may read a tool result alone: that model would be measured by itself.
  const reference = referenceOf(appraisal.candidates, policy.referenceModel);
  const [first] = pool;
  if (reference === undefined || first === undefined) {
    const gone = held !== undefined && appraisal.candidates.length > 0;
    return { kind: 'none', reason: gone ? 'tool_call_model_gone' : 'no_candidate', excluded };
  }
  const unfamiliar = isUnfamiliar(state, appraisal.similarity, tuning.novelty);
  const wanted =
    held === undefined
      ? want(question, tuning, { pool, reference, unfamiliar, excluded })
      : { pick: first, reason: 'tool_result' as const, good: new Set(pool) };
  const stuck =
    held === undefined ? stick(question, tuning, wanted, appraisal) : { ...wanted, sticky: 'kept' as const };
  const final = inShadow(state, question, stuck, reference);
  // Where it is unknown who called the tool, a second model is one too many.
  const standIns = session?.betweenToolCallAndResult === true ? [] : failover(pool, final.pick, wanted.good);
  const fallbackOrder = standIns.map(({ model }) => model);
  const lastResort = standIns.filter((one) => !wanted.good.has(one)).length;
  const weighed = pool.includes(reference) ? pool : [...pool, reference];
  const explanation = explain(state, question, { tuning, appraisal, weighed, reference, stuck, final });
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

/** Traffic that changed makes doubt count more. */
const cautious = (tuning: Tuning, { drift, pressure }: Question): Tuning => ({
  kappa: tuning.kappa + Math.max(0, pressure?.raise ?? 0),
  z: drift === 'raised' || drift === 'reference' ? Math.max(DRIFT_Z, tuning.z) : tuning.z,
  novelty: tuning.novelty,
});

function isUnfamiliar({ calibration }: RouterState, similarity: number, gate: NoveltyGate): boolean {
  return calibration !== undefined && similarity < (gate === 'p50' ? calibration.p50 : calibration.p25);
}

/** The algorithm wants one model, and may choose all that have left their trial and are good enough. */
interface Wanted extends Pick {
  readonly good: ReadonlySet<Appraised>;
}

/** It picks before sessions and shadow mode have their say. */
function want(
  { policy, drift }: Question,
  { novelty }: Tuning,
  asked: {
    pool: readonly Appraised[];
    reference: Appraised;
    unfamiliar: boolean;
    excluded: Record<string, number>;
  },
): Wanted {
  const { pool, reference, unfamiliar, excluded } = asked;
  // A model on trial is chosen by no belief: only replays tell what it is worth.
  const blind = policy.algorithm === 'cheapest';
  const known = pool.filter((one) => blind || one === reference || one.judged >= JUDGED_NEEDED_PER_MODEL);
  const enough = known.filter(({ quality, doubt }) => quality - doubt >= (policy.minQuality ?? 0));
  const good = new Set(enough);
  const picked = (pick: Appraised, reason: DecisionReason): Wanted => ({ pick, reason, good });
  if (pool.length === 1) return picked(reference, 'only_candidate');
  if (policy.algorithm === 'static') return picked(reference, 'algorithm_static');
  count(excluded, 'on_trial', pool.length - known.length);
  count(excluded, 'min_quality', known.length - enough.length);
  if (enough.length === 0)
    return picked(
      best(known, ({ quality, doubt }) => quality - doubt),
      'quality_floor',
    );
  if (blind)
    return picked(
      best(enough, ({ cost }) => -cost),
      'algorithm_cheapest',
    );
  if (policy.algorithm === 'best_quality')
    return picked(
      best(enough, ({ quality }) => quality),
      'algorithm_best_quality',
    );
  if (drift === 'reference') return picked(reference, 'traffic_changed');
  if (unfamiliar && novelty !== 'off') return picked(reference, 'unfamiliar_request');
  const pick = best(enough, ({ utility }) => utility);
  return picked(pick, reasonOf(pick, reference));
}

function reasonOf(pick: Appraised, reference: Appraised): DecisionReason {
  if (pick.model === reference.model) return 'reference_is_best';
  const better = pick.quality - reference.quality > SIMILAR_QUALITY;
  if (pick.cost >= reference.cost) return 'better_quality';
  return better ? 'better_quality_cheaper' : 'similar_quality_cheaper';
}

type StickyPick = Pick & { readonly sticky: 'kept' | 'new' | `broken:${string}` };

/** A session stays with its model unless that may not be chosen, or another is better by more than the lost cache costs. */
function stick(
  { session, policy, drift }: Question,
  { kappa }: Tuning,
  { good, ...wanted }: Wanted,
  { candidates, referenceCost }: Appraisal,
): StickyPick {
  if (session?.model === undefined || policy.algorithm === 'static') return { ...wanted, sticky: 'new' };
  const stuck = candidates.find(({ model }) => model === session.model);
  if (stuck === undefined) return { ...wanted, sticky: 'broken:no_candidate' };
  if (stuck.model === wanted.pick.model) return { ...wanted, sticky: 'kept' };
  if (!good.has(stuck)) return { ...wanted, sticky: 'broken:not_good' };
  if (drift === 'reference') return { ...wanted, sticky: 'broken:traffic_changed' };
  const lost = kappa * (stuck.cacheSaving / referenceCost);
  return wanted.pick.utility - stuck.utility > SWITCH_MARGIN + lost
    ? { ...wanted, sticky: 'broken:better_model' }
    : { pick: stuck, reason: 'session_kept', sticky: 'kept' };
}

/** While too little is known, and where only watching is allowed, the reference model answers. */
function inShadow(
  state: RouterState,
  { policy, candidates }: Question,
  wanted: StickyPick,
  reference: Appraised,
): Pick & { readonly shadow: boolean } {
  if (wanted.reason === 'tool_result') return { ...wanted, shadow: false };
  if (policy.mode === 'shadow') return { pick: reference, reason: 'shadow_mode', shadow: true };
  if (policy.algorithm !== 'hkb-v1' && policy.algorithm !== 'best_quality')
    return { ...wanted, shadow: false };
  const models = candidates.map(({ model }) => model);
  return readiness(state, models).ready
    ? { ...wanted, shadow: false }
    : { pick: reference, reason: 'still_learning', shadow: true };
}

/** Good models come first, and of them another supplier's: what ails one model of a supplier often ails all. */
function failover(
  pool: readonly Appraised[],
  chosen: Appraised,
  good: ReadonlySet<Appraised>,
): readonly Appraised[] {
  const isNear = ({ provider }: Candidate): number => (provider === chosen.provider ? 1 : 0);
  const isLast = (one: Appraised): number => (good.has(one) ? 0 : 1);
  return pool
    .filter((one) => one !== chosen)
    .sort(
      (one, other) =>
        isLast(one) - isLast(other) || isNear(one) - isNear(other) || other.utility - one.utility,
    )
    .slice(0, MOST_FALLBACKS);
}

function explain(
  state: RouterState,
  { policy, session, features, drift = 'calm', pressure }: Question,
  made: {
    tuning: Tuning;
    appraisal: Appraisal;
    weighed: readonly Appraised[];
    reference: Appraised;
    stuck: StickyPick;
    final: Pick & { shadow: boolean };
  },
): Omit<Explanation, 'excluded' | 'fallback_order' | 'last_resort'> {
  const { tuning, appraisal, weighed, reference, stuck, final } = made;
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
    candidates: explained(weighed, [stuck.pick, reference]),
  };
}

function explained(pool: readonly Appraised[], always: readonly Appraised[]): ExplainedCandidate[] {
  const ranked = [...pool].sort((one, other) => other.utility - one.utility);
  const shown = new Set([...new Set([...always, ...ranked])].slice(0, MOST_EXPLAINED));
  return ranked
    .filter((one) => shown.has(one))
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

function best(of: readonly Appraised[], worth: (one: Appraised) => number): Appraised {
  return of.reduce((chosen, one) => (worth(one) > worth(chosen) ? one : chosen));
}

function count(excluded: Record<string, number>, reason: string, add: number): void {
  if (add > 0) excluded[reason] = (excluded[reason] ?? 0) + add;
}

const round = (value: number): number => Math.round(value * 10_000) / 10_000;
