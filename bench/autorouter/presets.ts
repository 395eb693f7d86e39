import { decide, type NoveltyGate, type RouterState } from '#inside/autorouter/engine/index';
import { costOf, mean, singles } from './curve';
import type { DataSet, Row } from './data';
import { candidatesOf, NOW, policyOf, trained } from './methods';

export interface Preset {
  readonly kappa: number;
  readonly z: number;
  readonly novelty: NoveltyGate;
}

/** As the dial has them at 4, 5, 7 and 10. */
export const presets: Readonly<Record<'quality' | 'balanced' | 'economy' | 'max saving', Preset>> = {
  quality: { kappa: 0.03, z: 0.6, novelty: 'p25' },
  balanced: { kappa: 0.06, z: 0.3, novelty: 'p25' },
  economy: { kappa: 0.1, z: 0.6, novelty: 'p25' },
  'max saving': { kappa: 0.2, z: 0, novelty: 'off' },
};

/** Both over what the reference model gives. */
export interface Served {
  readonly cost: number;
  readonly quality: number;
  readonly unfamiliar: number;
}

/** The whole decision with its gates; the reference is the best of the training rows, as a customer would know it. */
export function serve(
  set: DataSet,
  train: readonly Row[],
  test: readonly Row[],
  tuning: Preset,
  state: RouterState = trained(set, train),
): Served {
  const quality = singles(set, train).map((one) => one.quality);
  const reference = quality.indexOf(Math.max(...quality));
  const candidates = candidatesOf(set);
  const policy = policyOf(tuning, set.models[reference]);
  const picks = test.map(({ features }) => {
    const decision = decide(state, { features, candidates, policy, now: NOW });
    if (decision.kind === 'none') throw new Error(`nothing chosen: ${decision.reason}`);
    return { model: set.models.indexOf(decision.chosen), unfamiliar: decision.unfamiliar ? 1 : 0 };
  });
  const of = (worth: (row: Row, model: number) => number): number =>
    mean(test.map((row, at) => worth(row, picks[at]?.model ?? -1))) /
    mean(test.map((row) => worth(row, reference)));
  return {
    cost: of((row, model) => costOf(set, row, model)),
    quality: of((row, model) => row.scores[model] ?? 0),
    unfamiliar: mean(picks.map(({ unfamiliar }) => unfamiliar)),
  };
}
