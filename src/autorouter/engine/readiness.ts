import type { RouterState } from './state';

const JUDGED_NEEDED = 500;
/** Each model needs so many, decayed: one that was changed or not judged for long is on trial again. */
export const JUDGED_NEEDED_PER_MODEL = 30;

/** The router chooses once it has learned this much. */
export interface Readiness {
  readonly ready: boolean;
  readonly judged: number;
  readonly needed: number;
  readonly neededPerModel: number;
  readonly models: readonly { readonly model: string; readonly judged: number; readonly ready: boolean }[];
}

/** Two models have to be known, or there is nothing to choose; a further one is passed over until it is known. */
export function readiness(state: RouterState, models: readonly string[]): Readiness {
  let judged = 0;
  for (const statistics of state.models.values()) judged += statistics.judged;
  const each = models.map((model) => {
    const known = state.models.get(model)?.all.weight ?? 0;
    return { model, judged: known, ready: known >= JUDGED_NEEDED_PER_MODEL };
  });
  const known = each.filter(({ ready }) => ready).length;
  return {
    ready: judged >= JUDGED_NEEDED && known >= Math.min(2, models.length),
    judged,
    needed: JUDGED_NEEDED,
    neededPerModel: JUDGED_NEEDED_PER_MODEL,
    models: each,
  };
}
