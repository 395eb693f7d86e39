import type { DriftLevel } from './drift';
import { estimate, type Estimate, familiarity } from './estimate';
import type { Features } from './features';
import type { RoutingPolicy, Tuning } from './policy';
import { failureChance, type Reliability } from './reliability';
import type { RouterState } from './state';

const LATENCY_WEIGHT = 0.05;
const FAILURE_WEIGHT = 0.5;
export const DOUBT_SCALE = 0.8 * Math.SQRT2;
const MILLION = 1_000_000;

/** A candidate model that has passed every hard constraint. */
export interface Candidate {
  readonly model: string;
  /** Failover order depends on the supplier. */
  readonly provider: string;
  /** In nano-USD per million tokens, as prices are. */
  readonly inputRate: number;
  readonly outputRate: number;
  readonly cachedInputRate?: number;
  /** Prior score before anything is learned, 0 to 1; defaults to one derived from the price rank. */
  readonly prior?: number;
}

export interface SessionView {
  readonly source: string;
  /** The model of its last answer or of the tool call; absent for a new session or an unknown caller. */
  readonly model?: string;
  readonly since?: number;
  /** The request contains the result of a tool call made by `model`. */
  readonly betweenToolCallAndResult: boolean;
  /** Prompt tokens that are probably in the supplier's cache. */
  readonly cachedTokens: number;
}

export interface BudgetPressure {
  readonly budget: string;
  readonly period: string;
  readonly projected: number;
  readonly raise: number;
}

export interface UsualTokens {
  readonly input: number;
  readonly cached: number;
  readonly output: number;
}

export interface RoutingQuery {
  readonly features: Features;
  readonly candidates: readonly Candidate[];
  readonly policy: RoutingPolicy;
  /** In ms since 1970. */
  readonly now: number;
  readonly session?: SessionView;
  readonly reliability?: readonly Reliability[];
  readonly drift?: DriftLevel;
  readonly pressure?: BudgetPressure;
  /** Average tokens of each reference model's requests; defaults to the learned examples. */
  readonly usualTokens?: ReadonlyMap<string, UsualTokens>;
  readonly excluded?: Readonly<Record<string, number>>;
}

export interface AppraisedCandidate extends Candidate, Estimate {
  /** In nano-USD. */
  readonly cost: number;
  /** Predicted output tokens, within the caller's limit. */
  readonly tokensOut: number;
  readonly cacheSaving: number;
  /** Probability of an unusable answer; 0 if no model has observations. */
  readonly failure: number;
  readonly utility: number;
}

export interface Appraisal {
  readonly candidates: readonly AppraisedCandidate[];
  readonly similarity: number;
  readonly neighbours: number;
  readonly referenceCost: number;
}

export function appraise(state: RouterState, query: RoutingQuery, tuning: Tuning): Appraisal {
  const { features, policy, now } = query;
  const requestFamiliarity = familiarity(state, features, now);
  const estimated = withPriors(query.candidates).map(({ candidate, prior }) => ({
    ...candidate,
    ...estimate(state, features, requestFamiliarity, { model: candidate.model, prior }),
  }));
  const priced = estimated
    .map((one) => ({ ...one, ...costOf(one, query), failure: failureOf(one, query) }))
    .filter(({ cost }) => cost <= (policy.maxCostPerRequest ?? Infinity));
  const reference = referenceOf(priced, policy.referenceModel);
  const referenceCost = Math.max(1, usualCost(state, query, reference) ?? reference?.cost ?? 1);
  const candidates = priced.map((one) => ({
    ...one,
    utility: utilityOf(one, query, tuning, { referenceCost, isReference: one === reference }),
  }));
  return {
    candidates,
    similarity: requestFamiliarity.similarity,
    neighbours: requestFamiliarity.neighbours.length,
    referenceCost,
  };
}

export function referenceOf<T extends Pick<AppraisedCandidate, 'model' | 'generalQuality'>>(
  pool: readonly T[],
  named: string | undefined,
): T | undefined {
  const namedModel = pool.find(({ model }) => model === named);
  if (namedModel !== undefined || pool.length === 0) return namedModel;
  return pool.reduce((best, one) => (one.generalQuality > best.generalQuality ? one : best));
}

/** Dearer models start with a slightly better prior until scores say otherwise. */
function withPriors(candidates: readonly Candidate[]): { candidate: Candidate; prior: number }[] {
  const rates = [...new Set(candidates.map(rateOf))].sort((one, other) => one - other);
  return candidates.map((candidate) => {
    const rank = rates.length < 2 ? 0.5 : rates.indexOf(rateOf(candidate)) / (rates.length - 1);
    return { candidate, prior: candidate.prior ?? 0.5 + 0.2 * rank };
  });
}

const rateOf = ({ inputRate, outputRate }: Candidate): number => inputRate + outputRate;

function costOf(
  one: Candidate & Estimate,
  { features: { counters }, session }: RoutingQuery,
): Pick<AppraisedCandidate, 'cost' | 'cacheSaving' | 'tokensOut'> {
  const cached = session?.model === one.model ? Math.min(session.cachedTokens, counters.tokens) : 0;
  const tokensOut = Math.min(one.tokensOut, counters.maxTokens ?? Infinity);
  const full = priceOf({ input: counters.tokens, cached: 0, output: tokensOut }, one);
  const cost = priceOf({ input: counters.tokens - cached, cached, output: tokensOut }, one);
  // A cache price above the normal price is no saving.
  const cacheSaving = Math.max(0, full - cost);
  return { cost: full - cacheSaving, cacheSaving, tokensOut };
}

/** In nano-USD, at current rates. */
const priceOf = (
  { input, cached, output }: UsualTokens,
  { inputRate, cachedInputRate = inputRate, outputRate }: Candidate,
): number => (input * inputRate + cached * cachedInputRate + output * outputRate) / MILLION;

function usualCost(
  state: RouterState,
  { usualTokens }: RoutingQuery,
  reference: Candidate | undefined,
): number | undefined {
  if (reference === undefined) return undefined;
  const tokens = usualTokens?.get(reference.model) ?? learnedTokens(state, reference);
  return tokens === undefined ? undefined : priceOf(tokens, reference);
}

function learnedTokens({ requests, models }: RouterState, { model }: Candidate): UsualTokens | undefined {
  const learned = models.get(model)?.all;
  if (learned === undefined || requests.weight < 1 || learned.weight < 1) return undefined;
  return {
    input: requests.tokensIn / requests.weight,
    cached: 0,
    output: learned.tokens / learned.weight,
  };
}

const failureOf = ({ model }: Candidate, { reliability, now }: RoutingQuery): number =>
  reliability === undefined ? 0 : failureChance(reliability, model, now);

function utilityOf(
  one: Candidate & Estimate & Pick<AppraisedCandidate, 'cost' | 'failure'>,
  { policy }: RoutingQuery,
  { kappa, z }: Tuning,
  { referenceCost, isReference }: { referenceCost: number; isReference: boolean },
): number {
  const slowness =
    policy.latencyTargetMs === undefined || one.latencyMs === undefined
      ? 0
      : Math.max(0, one.latencyMs / policy.latencyTargetMs - 1);
  return (
    one.quality -
    kappa * (one.cost / referenceCost) -
    LATENCY_WEIGHT * slowness -
    FAILURE_WEIGHT * one.failure -
    (isReference ? 0 : z * DOUBT_SCALE * one.doubt)
  );
}
