import { emptyState, learn, learnAll, type RouterState } from '#inside/autorouter/engine/index';
import { appraise } from '#inside/autorouter/engine/appraise';
import { mean } from './curve';
import type { DataSet, Row } from './data';
import { frameOf, outcomeOf, split } from './frontier';
import { beliefOf, candidatesOf, exampleOf, NOW, policyOf } from './methods';
import { gaussian, shuffled } from './random';

const JUDGED = 3_000;

/** On one split several draws of what is judged: 333 prompts alone say little of the strategy. */
const DRAWS = 4;

/** Gap closed by 3,000 judged answers: all models on few prompts, against the served answer of many. */
export function learningOutcome(set: DataSet, seed: number): { all: number; served: number } {
  const { train, test, random } = split(set, seed);
  const frame = frameOf(set, test);
  const gapOf = (state: RouterState): number => outcomeOf(frame, beliefOf(set, state)).gapClosed;
  const draws = Array.from({ length: DRAWS }, () => {
    const rows = shuffled(train, random);
    const all = emptyState();
    learnAll(
      all,
      rows.slice(0, Math.floor(JUDGED / set.models.length)).map((row) => exampleOf(set, row)),
    );
    return { all: gapOf(all), served: gapOf(servedOnly(set, rows.slice(0, JUDGED), random)) };
  });
  return { all: mean(draws.map(({ all }) => all)), served: mean(draws.map(({ served }) => served)) };
}

/** A bandit: the model that answers is drawn by what is believed of it, and only its answer is judged. */
function servedOnly(set: DataSet, rows: readonly Row[], random: () => number) {
  const state = emptyState();
  const candidates = candidatesOf(set);
  const tuning = { kappa: 0, z: 0, novelty: 'off' } as const;
  for (const row of rows) {
    const question = { features: row.features, candidates, policy: policyOf(tuning), now: NOW };
    const drawn = appraise(state, question, tuning).candidates.map(
      ({ quality, doubt }) => quality + doubt * gaussian(random),
    );
    learn(state, exampleOf(set, row, [drawn.indexOf(Math.max(...drawn))]));
  }
  return state;
}
