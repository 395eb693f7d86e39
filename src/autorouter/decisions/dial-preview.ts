import { setImmediate as nextTurn } from 'node:timers/promises';
import { doubtOf, retunedUtility } from '../engine/retune';
import type { ExplainedCandidate } from '../engine/explanation';
import { type Tuning, tuningOf } from '../engine/policy';
import { type Interval, MIN_SAMPLE_SIZE, meanOf, ratioOf } from '../../kernel';

export interface JudgedDecision {
  readonly reference: string;
  readonly referenceCost: number;
  readonly tuning: Pick<Tuning, 'kappa' | 'z'>;
  /** 1 minus the similarity to the nearest remembered request. */
  readonly novelty: number;
  readonly candidates: readonly ExplainedCandidate[];
  /** Inverse of its sampling probability. */
  readonly weight: number;
  readonly answers: Readonly<Record<string, JudgedAnswer>>;
}

interface JudgedAnswer {
  /** From 0 to 100. */
  readonly score: number;
  readonly costNano: number;
}

export interface PreviewRules {
  /** Models with enough scores to be chosen. */
  readonly ready: ReadonlySet<string>;
  readonly minQuality: number;
  readonly maxCostNano: number;
  /** Novelty above which a request is unfamiliar; null before the first calibration. */
  readonly unfamiliarFrom: number | null;
}

export interface DialOutcome {
  readonly dial: number;
  /** Share of all decisions in the preview; null if there are too few. */
  readonly away: number | null;
  /** Number of decisions with a score of both the choice and the reference. */
  readonly pairs: number;
  /** Points against the reference; null, as for the next fields, if there are not enough data. */
  readonly difference: Interval | null;
  /** Relative to the cost of the reference. */
  readonly costRatio: Interval | null;
  readonly score: Interval | null;
  /** Cost per answer in nano-USD. */
  readonly cost: Interval | null;
}

const DIALS = Array.from({ length: 11 }, (_, dial) => dial);

/**
 * Replays each request separately with the router's predictions of that time, ignoring conversations, tool results and
 * drift. Predictions choose; measured figures are reported.
 */
export async function dialPreview(
  decisions: readonly JudgedDecision[],
  rules: PreviewRules,
): Promise<DialOutcome[]> {
  const outcomes: DialOutcome[] = [];
  for (const dial of DIALS) {
    outcomes.push(outcomeOf(dial, decisions, rules));
    // A thousand decisions take milliseconds: yields to other work of the node.
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
    away: choices.length < MIN_SAMPLE_SIZE ? null : away / choices.length,
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
  const newTuning = tuningOf(dial);
  const pool = candidates.filter(
    ({ model, cost_est: cost }) =>
      (model === reference || rules.ready.has(model)) && cost <= rules.maxCostNano,
  );
  const acceptable = pool.filter((one) => one.q - doubtOf(one) >= rules.minQuality);
  if (acceptable.length === 0) return best(pool, (one) => one.q - doubtOf(one))?.model ?? reference;
  const isUnfamiliar = rules.unfamiliarFrom !== null && novelty > rules.unfamiliarFrom;
  if (isUnfamiliar && newTuning.novelty !== 'off') return reference;
  const utility = (one: ExplainedCandidate): number =>
    retunedUtility(one, { from: tuning, to: newTuning, reference, referenceCost });
  return best(acceptable, utility)?.model ?? reference;
}

const best = (
  candidates: readonly ExplainedCandidate[],
  scoreOf: (one: ExplainedCandidate) => number,
): ExplainedCandidate | undefined =>
  candidates.reduce<ExplainedCandidate | undefined>(
    (chosen, one) => (chosen === undefined || scoreOf(one) > scoreOf(chosen) ? one : chosen),
    undefined,
  );
