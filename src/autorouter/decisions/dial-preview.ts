import { setImmediate as nextTurn } from 'node:timers/promises';
import { doubtOf, retuned } from '../engine/retune';
import type { ExplainedCandidate } from '../engine/explanation';
import { type Tuning, tuningOf } from '../engine/policy';
import { type Interval, LEAST_SAMPLE, meanOf, ratioOf } from '../../kernel';

/** A decision whose candidates were judged afterwards, all of them or some. */
export interface JudgedDecision {
  readonly reference: string;
  readonly referenceCost: number;
  readonly tuning: Pick<Tuning, 'kappa' | 'z'>;
  /** It is 1 less the similarity of the nearest remembered request. */
  readonly novelty: number;
  readonly candidates: readonly ExplainedCandidate[];
  /** One over the probability with which it was sampled. */
  readonly weight: number;
  readonly answers: Readonly<Record<string, JudgedAnswer>>;
}

interface JudgedAnswer {
  /** It goes from 0 to 100. */
  readonly score: number;
  readonly costNano: number;
}

/** These rules hold at every place of the dial. */
export interface PreviewRules {
  /** Those with enough scores to be chosen. */
  readonly ready: ReadonlySet<string>;
  readonly minQuality: number;
  readonly maxCostNano: number;
  /** From so much novelty on, a request is unfamiliar; null before the first calibration. */
  readonly unfamiliarFrom: number | null;
}

/** One place of the dial would have chosen these models; scores and costs are those of their answers. */
export interface DialOutcome {
  readonly dial: number;
  /** It is a share of all decisions that were looked at; null where there are too few. */
  readonly away: number | null;
  /** So many decisions have a score of the choice and of the reference both. */
  readonly pairs: number;
  /** Points against the reference; null: not enough data, as are the next ones. */
  readonly difference: Interval | null;
  /** It is a part of what the reference cost. */
  readonly costRatio: Interval | null;
  readonly score: Interval | null;
  /** It is the cost of an answer, in nano-USD. */
  readonly cost: Interval | null;
}

const DIALS = Array.from({ length: 11 }, (_, dial) => dial);

/**
 * Every request on its own, by what the router believed when it came: conversations, tool results and drift are left
 * out. Believed figures choose; measured figures are what is reported.
 */
export async function dialPreview(
  decisions: readonly JudgedDecision[],
  rules: PreviewRules,
): Promise<DialOutcome[]> {
  const outcomes: DialOutcome[] = [];
  for (const dial of DIALS) {
    outcomes.push(outcomeOf(dial, decisions, rules));
    // A thousand decisions take milliseconds: other work of the node has its turn.
    await nextTurn();
  }
  return outcomes;
}

function outcomeOf(dial: number, decisions: readonly JudgedDecision[], rules: PreviewRules): DialOutcome {
  const choices = decisions.map((decision) => ({ decision, choice: choiceAt(dial, decision, rules) }));
  const pairs = choices.flatMap(({ decision: { answers, reference, weight }, choice }) => {
    const [chosen, other] = [answers[choice], answers[reference]];
    return chosen === undefined || other === undefined ? [] : [{ chosen, other, weight }];
  });
  const away = choices.filter(({ decision, choice }) => choice !== decision.reference).length;
  return {
    dial,
    away: choices.length < LEAST_SAMPLE ? null : away / choices.length,
    pairs: pairs.length,
    difference: meanOf(
      pairs.map(({ chosen, other, weight }) => ({ value: chosen.score - other.score, weight })),
    ),
    costRatio: ratioOf(
      pairs.map(({ chosen, other, weight }) => ({ value: chosen.costNano, other: other.costNano, weight })),
    ),
    score: meanOf(pairs.map(({ chosen, weight }) => ({ value: chosen.score, weight }))),
    cost: meanOf(pairs.map(({ chosen, weight }) => ({ value: chosen.costNano, weight }))),
  };
}

function choiceAt(dial: number, decision: JudgedDecision, rules: PreviewRules): string {
  const { reference, referenceCost, candidates, novelty, tuning } = decision;
  const to = tuningOf(dial);
  const pool = candidates.filter(
    ({ model, cost_est: cost }) =>
      (model === reference || rules.ready.has(model)) && cost <= rules.maxCostNano,
  );
  const good = pool.filter((one) => one.q - doubtOf(one) >= rules.minQuality);
  if (good.length === 0) return best(pool, (one) => one.q - doubtOf(one))?.model ?? reference;
  const isUnfamiliar = rules.unfamiliarFrom !== null && novelty > rules.unfamiliarFrom;
  if (isUnfamiliar && to.novelty !== 'off') return reference;
  const utility = (one: ExplainedCandidate): number =>
    retuned(one, { from: tuning, to, reference, referenceCost });
  return best(good, utility)?.model ?? reference;
}

const best = (
  of: readonly ExplainedCandidate[],
  worth: (one: ExplainedCandidate) => number,
): ExplainedCandidate | undefined =>
  of.reduce<ExplainedCandidate | undefined>(
    (chosen, one) => (chosen === undefined || worth(one) > worth(chosen) ? one : chosen),
    undefined,
  );
