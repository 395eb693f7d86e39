/** The ways to choose; what settings name besides is refused with `unsupported_autorouter_algorithm`. */
export const ROUTER_ALGORITHMS = ['hkb-v1', 'static', 'cheapest', 'best_quality'] as const;
export type RouterAlgorithm = (typeof ROUTER_ALGORITHMS)[number];

/** A request below this similarity to everything remembered counts as unfamiliar. */
export type NoveltyGate = 'off' | 'p25' | 'p50';

/** The algorithm reads a place of the dial as these numbers. */
export interface Tuning {
  /** So much quality, of 1, is given up to save what one request of the reference model costs. */
  readonly kappa: number;
  /** Doubt counts this much against a model that is not the reference. */
  readonly z: number;
  readonly novelty: NoveltyGate;
}

/** The rules of one decision: settings of all levels, resolved. */
export interface Policy {
  readonly algorithm: RouterAlgorithm;
  /** In shadow the reference model answers, and the decision is only written down. */
  readonly mode: 'shadow' | 'on';
  /** It goes from 0 (quality) to 10 (savings). */
  readonly dial: number;
  /** The level of settings that had the last word, for the explanation. */
  readonly level: string;
  /** The model that answers in doubt; without one the best of the candidates by score. */
  readonly referenceModel?: string;
  /** It is a part of 1: a model has to reach it with its doubt deducted. */
  readonly minQuality?: number;
  /** It is in nano-USD. */
  readonly maxCostPerRequest?: number;
  readonly latencyTargetMs?: number;
  /** It replaces what the dial means. */
  readonly tuning?: Tuning;
}

/** These points were measured; between two of them the dial means something between. */
const dialPoints: readonly { readonly dial: number; readonly kappa: number; readonly z: number }[] = [
  { dial: 0, kappa: 0, z: 0.6 },
  { dial: 2, kappa: 0.01, z: 0.6 },
  { dial: 4, kappa: 0.03, z: 0.6 },
  { dial: 5, kappa: 0.06, z: 0.3 },
  { dial: 7, kappa: 0.1, z: 0.6 },
  { dial: 10, kappa: 0.2, z: 0 },
];
const MIDDLE = 5;
const MOST = 10;

export function tuningOf(dial: number): Tuning {
  const at = Math.min(MOST, Math.max(0, Number.isFinite(dial) ? dial : MIDDLE));
  const index = Math.max(
    1,
    dialPoints.findIndex((point) => at <= point.dial),
  );
  const [low, high] = [dialPoints[index - 1], dialPoints[index]];
  if (low === undefined || high === undefined) throw new RangeError(`no dial ${dial}`);
  const share = (at - low.dial) / (high.dial - low.dial);
  return {
    kappa: low.kappa + share * (high.kappa - low.kappa),
    z: low.z + share * (high.z - low.z),
    // The one setting without caution: not all can be saved with it.
    novelty: at === MOST ? 'off' : 'p25',
  };
}
