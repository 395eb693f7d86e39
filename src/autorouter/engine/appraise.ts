import type { DriftLevel } from './drift';
import { estimate, type Estimate, familiarity } from './estimate';
import type { Features } from './features';
import type { Policy, Tuning } from './policy';
import { failureChance, type Reliability } from './reliability';
import type { RouterState } from './state';

const LATENCY_WEIGHT = 0.05;
const FAILURE_WEIGHT = 0.5;
export const DOUBT_SCALE = 0.8 * Math.SQRT2;
const MILLION = 1_000_000;

/** A candidate model: every hard constraint was checked before. */
export interface Candidate {
  readonly model: string;
  /** The order of failover depends on the supplier. */
  readonly provider: string;
  /** In nano-USD for a million tokens, as prices are. */
  readonly inputRate: number;
  readonly outputRate: number;
  readonly cachedInputRate?: number;
  /** Expected score before anything is learned, 0 to 1; without it the rank of the price speaks. */
  readonly prior?: number;
}

/** The conversation that the request continues. */
export interface SessionView {
  readonly source: string;
  /** The model of its last answer, or of the tool call; without one the session is new, or the caller unknown. */
  readonly model?: string;
  readonly since?: number;
  /** The request brings the result of a tool call, which `model` made. */
  readonly betweenToolCallAndResult: boolean;
  /** The model's supplier probably has so many tokens of the prompt in its cache. */
  readonly cachedTokens: number;
}

export interface BudgetPressure {
  /** The budget belongs to this owner. */
  readonly budget: string;
  readonly period: string;
  /** The period will cost this share of the budget if spending goes on. */
  readonly projected: number;
  readonly raise: number;
}

/** The tokens of a request, on average. */
export interface UsualTokens {
  readonly input: number;
  /** They are read from the supplier's cache. */
  readonly cached: number;
  readonly output: number;
}

export interface Question {
  readonly features: Features;
  readonly candidates: readonly Candidate[];
  readonly policy: Policy;
  /** It is in ms since 1970. */
  readonly now: number;
  readonly session?: SessionView;
  /** These are observations of the models: their answers, and feedback on them. */
  readonly reliability?: readonly Reliability[];
  readonly drift?: DriftLevel;
  /** The budget that presses most, and what it adds to kappa. */
  readonly pressure?: BudgetPressure;
  /** Each reference model has the tokens that its requests take on average; without it the examples tell. */
  readonly usualTokens?: ReadonlyMap<string, UsualTokens>;
  /** The explanation counts by reason why other models are no candidates. */
  readonly excluded?: Readonly<Record<string, number>>;
}

/** A candidate with the belief about it. */
export interface Appraised extends Candidate, Estimate {
  /** It is in nano-USD. */
  readonly cost: number;
  /** The router expects this many tokens, within the bound of the caller. */
  readonly tokensOut: number;
  /** The supplier's cache saves this much. */
  readonly cacheSaving: number;
  /** The chance that its answer is no good; 0 where nothing was seen of any model. */
  readonly failure: number;
  readonly utility: number;
}

export interface Appraisal {
  /** Those that cost no more than a request may. */
  readonly candidates: readonly Appraised[];
  readonly similarity: number;
  readonly neighbours: number;
  readonly referenceCost: number;
}

export function appraise(state: RouterState, question: Question, tuning: Tuning): Appraisal {
  const { features, policy, now } = question;
  const familiar = familiarity(state, features, now);
  const believed = withPriors(question.candidates).map(({ candidate, prior }) => ({
    ...candidate,
    ...estimate(state, features, familiar, { model: candidate.model, prior }),
  }));
  const priced = believed
    .map((one) => ({ ...one, ...costOf(one, question), failure: failureOf(one, question) }))
    .filter(({ cost }) => cost <= (policy.maxCostPerRequest ?? Infinity));
  const reference = referenceOf(priced, policy.referenceModel);
  const referenceCost = Math.max(1, usualCost(state, question, reference) ?? reference?.cost ?? 1);
  const candidates = priced.map((one) => ({
    ...one,
    utility: utilityOf(one, question, tuning, { referenceCost, isReference: one === reference }),
  }));
  return {
    candidates,
    similarity: familiar.similarity,
    neighbours: familiar.neighbours.length,
    referenceCost,
  };
}

/** The reference model: it answers in doubt. */
export function referenceOf<T extends Pick<Appraised, 'model' | 'generalQuality'>>(
  pool: readonly T[],
  named: string | undefined,
): T | undefined {
  const found = pool.find(({ model }) => model === named);
  if (found !== undefined || pool.length === 0) return found;
  return pool.reduce((best, one) => (one.generalQuality > best.generalQuality ? one : best));
}

/** Dearer models are believed a little better until scores say otherwise. */
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
  { features: { counters }, session }: Question,
): Pick<Appraised, 'cost' | 'cacheSaving' | 'tokensOut'> {
  const cached = session?.model === one.model ? Math.min(session.cachedTokens, counters.tokens) : 0;
  const tokensOut = Math.min(one.tokensOut, counters.maxTokens ?? Infinity);
  const full = priceOf({ input: counters.tokens, cached: 0, output: tokensOut }, one);
  const cost = priceOf({ input: counters.tokens - cached, cached, output: tokensOut }, one);
  // A price above that of other tokens is no saving.
  const cacheSaving = Math.max(0, full - cost);
  return { cost: full - cacheSaving, cacheSaving, tokensOut };
}

/** It is in nano-USD, at the rates of now. */
const priceOf = (
  { input, cached, output }: UsualTokens,
  { inputRate, cachedInputRate = inputRate, outputRate }: Candidate,
): number => (input * inputRate + cached * cachedInputRate + output * outputRate) / MILLION;

/** A request of this organisation usually costs this much with the reference model. */
function usualCost(
  state: RouterState,
  { usualTokens }: Question,
  reference: Candidate | undefined,
): number | undefined {
  if (reference === undefined) return undefined;
  const tokens = usualTokens?.get(reference.model) ?? learnedTokens(state, reference);
  return tokens === undefined ? undefined : priceOf(tokens, reference);
}

function learnedTokens({ requests, models }: RouterState, { model }: Candidate): UsualTokens | undefined {
  const known = models.get(model)?.all;
  if (known === undefined || requests.weight < 1 || known.weight < 1) return undefined;
  return {
    input: requests.tokensIn / requests.weight,
    cached: 0,
    output: known.tokens / known.weight,
  };
}

const failureOf = ({ model }: Candidate, { reliability, now }: Question): number =>
  reliability === undefined ? 0 : failureChance(reliability, model, now);

function utilityOf(
  one: Candidate & Estimate & Pick<Appraised, 'cost' | 'failure'>,
  { policy }: Question,
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
