import { decide, type NoveltyGate, type RouterState } from '#inside/autorouter/engine/index';
import { costOf, mean, singleModelPoints } from './curve';
import type { DataSet, PromptRow } from './data';
import { candidatesOf, NOW, policyOf, trainRouter } from './methods';

export interface Preset {
  readonly kappa: number;
  readonly z: number;
  readonly novelty: NoveltyGate;
}

/** Dial positions 4, 5, 7 and 10. */
export const presets: Readonly<Record<'quality' | 'balanced' | 'economy' | 'max saving', Preset>> = {
  quality: { kappa: 0.03, z: 0.6, novelty: 'p25' },
  balanced: { kappa: 0.06, z: 0.3, novelty: 'p25' },
  economy: { kappa: 0.1, z: 0.6, novelty: 'p25' },
  'max saving': { kappa: 0.2, z: 0, novelty: 'off' },
};

/** Quality and cost relative to the reference model. */
export interface ServedOutcome {
  readonly cost: number;
  readonly quality: number;
  readonly unfamiliar: number;
}

/**
 * Runs complete decisions with gates; the reference is the best model of the training rows, as a customer would choose.
 */
export function serve(
  set: DataSet,
  train: readonly PromptRow[],
  test: readonly PromptRow[],
  tuning: Preset,
  state: RouterState = trainRouter(set, train),
): ServedOutcome {
  const quality = singleModelPoints(set, train).map((point) => point.quality);
  const reference = quality.indexOf(Math.max(...quality));
  const candidates = candidatesOf(set);
  const policy = policyOf(tuning, set.models[reference]);
  const picks = test.map(({ features }) => {
    const decision = decide(state, { features, candidates, policy, now: NOW });
    if (decision.kind === 'none') throw new Error(`nothing chosen: ${decision.reason}`);
    return { model: set.models.indexOf(decision.chosen), unfamiliar: decision.unfamiliar ? 1 : 0 };
  });
  const meanOver = (worth: (row: PromptRow, model: number) => number): number =>
    mean(test.map((row, at) => worth(row, picks[at]?.model ?? -1))) /
    mean(test.map((row) => worth(row, reference)));
  return {
    cost: meanOver((row, model) => costOf(set, row, model)),
    quality: meanOver((row, model) => row.scores[model] ?? 0),
    unfamiliar: mean(picks.map(({ unfamiliar }) => unfamiliar)),
  };
}
