import type { RouterState } from './state';

const MIN_JUDGED = 500;
/** Minimum per model, after decay: a model that changed or was not judged for long is on trial again. */
export const MIN_JUDGED_PER_MODEL = 30;

export interface RouterReadiness {
  readonly ready: boolean;
  readonly judged: number;
  readonly needed: number;
  readonly neededPerModel: number;
  readonly models: readonly { readonly model: string; readonly judged: number; readonly ready: boolean }[];
}

/**
 * At least two models must have enough scores, or there is nothing to choose. Further models are excluded until they
 * do.
 */
export function readiness(state: RouterState, models: readonly string[]): RouterReadiness {
  let judged = 0;
  for (const statistics of state.models.values()) judged += statistics.judged;
  const modelReadiness = models.map((model) => {
    const weight = state.models.get(model)?.all.weight ?? 0;
    return { model, judged: weight, ready: weight >= MIN_JUDGED_PER_MODEL };
  });
  const readyCount = modelReadiness.filter(({ ready }) => ready).length;
  return {
    ready: judged >= MIN_JUDGED && readyCount >= Math.min(2, models.length),
    judged,
    needed: MIN_JUDGED,
    neededPerModel: MIN_JUDGED_PER_MODEL,
    models: modelReadiness,
  };
}
