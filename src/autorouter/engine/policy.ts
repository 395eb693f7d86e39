/** Supported algorithms; any other in settings is refused with `unsupported_autorouter_algorithm`. */
export const ROUTER_ALGORITHMS = ['hkb-v1', 'static', 'cheapest', 'best_quality'] as const;
export type RouterAlgorithm = (typeof ROUTER_ALGORITHMS)[number];

/** Similarity percentile below which a request counts as unfamiliar. */
export type NoveltyGate = 'off' | 'p25' | 'p50';

export interface Tuning {
  /** Quality, out of 1, that is given up to save the cost of one request to the reference model. */
  readonly kappa: number;
  /** Weight of doubt against models other than the reference. */
  readonly z: number;
  readonly novelty: NoveltyGate;
}

export interface RoutingPolicy {
  readonly algorithm: RouterAlgorithm;
  /** In shadow mode the reference model answers, and the decision is only recorded. */
  readonly mode: 'shadow' | 'on';
  /** From 0 (quality) to 10 (savings). */
  readonly dial: number;
  readonly level: string;
  /** The model that answers in case of doubt; defaults to the candidate with the best score. */
  readonly referenceModel?: string;
  /** From 0 to 1; compared with the estimate minus its doubt. */
  readonly minQuality?: number;
  /** In nano-USD. */
  readonly maxCostPerRequest?: number;
  readonly latencyTargetMs?: number;
  readonly tuning?: Tuning;
}

/** Measured points of the dial; values between two of them are interpolated. */
const dialPoints: readonly { readonly dial: number; readonly kappa: number; readonly z: number }[] = [
  { dial: 0, kappa: 0, z: 0.6 },
  { dial: 2, kappa: 0.01, z: 0.6 },
  { dial: 4, kappa: 0.03, z: 0.6 },
  { dial: 5, kappa: 0.06, z: 0.3 },
  { dial: 7, kappa: 0.1, z: 0.6 },
  { dial: 10, kappa: 0.2, z: 0 },
];
const DEFAULT_DIAL = 5;
const MAX_DIAL = 10;

export function tuningOf(dial: number): Tuning {
  const clamped = Math.min(MAX_DIAL, Math.max(0, Number.isFinite(dial) ? dial : DEFAULT_DIAL));
  const index = Math.max(
    1,
    dialPoints.findIndex((point) => clamped <= point.dial),
  );
  const [low, high] = [dialPoints[index - 1], dialPoints[index]];
  if (low === undefined || high === undefined) throw new RangeError(`no dial ${dial}`);
  const share = (clamped - low.dial) / (high.dial - low.dial);
  return {
    kappa: low.kappa + share * (high.kappa - low.kappa),
    z: low.z + share * (high.z - low.z),
    // The only setting without a novelty gate: maximum savings are impossible with it.
    novelty: clamped === MAX_DIAL ? 'off' : 'p25',
  };
}
