import { emptyState, learn, learnAll, type RouterState } from '#inside/autorouter/engine/index';
import { appraise } from '#inside/autorouter/engine/appraise';
import { mean } from './curve';
import type { DataSet, PromptRow } from './data';
import { frameOf, outcomeOf, split } from './frontier';
import { predictorOf, candidatesOf, exampleOf, NOW, policyOf } from './methods';
import { gaussian, shuffled } from './random';

const JUDGED_ANSWERS = 3_000;

/** Draws per split, because 333 judged prompts alone say little about the strategy. */
const DRAWS_PER_SPLIT = 4;

/** Gap closed after 3,000 judged answers: all models on few prompts, against only the served model on many. */
export function learningOutcome(set: DataSet, seed: number): { all: number; served: number } {
  const { train, test, random } = split(set, seed);
  const frame = frameOf(set, test);
  const gapOf = (state: RouterState): number => outcomeOf(frame, predictorOf(set, state)).gapClosed;
  const draws = Array.from({ length: DRAWS_PER_SPLIT }, () => {
    const rows = shuffled(train, random);
    const all = emptyState();
    learnAll(
      all,
      rows.slice(0, Math.floor(JUDGED_ANSWERS / set.models.length)).map((row) => exampleOf(set, row)),
    );
    return { all: gapOf(all), served: gapOf(learnFromServed(set, rows.slice(0, JUDGED_ANSWERS), random)) };
  });
  return { all: mean(draws.map(({ all }) => all)), served: mean(draws.map(({ served }) => served)) };
}

/** Bandit: samples the model to serve from the predictions, and only its answer is judged. */
function learnFromServed(set: DataSet, rows: readonly PromptRow[], random: () => number) {
  const state = emptyState();
  const candidates = candidatesOf(set);
  const tuning = { kappa: 0, z: 0, novelty: 'off' } as const;
  for (const row of rows) {
    const question = { features: row.features, candidates, policy: policyOf(tuning), now: NOW };
    const sampledUtilities = appraise(state, question, tuning).candidates.map(
      ({ quality, doubt }) => quality + doubt * gaussian(random),
    );
    learn(state, exampleOf(set, row, [sampledUtilities.indexOf(Math.max(...sampledUtilities))]));
  }
  return state;
}
