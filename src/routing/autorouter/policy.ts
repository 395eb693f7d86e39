/** The ways to choose; what settings name besides is refused with `unsupported_autorouter_algorithm`. */
export const ROUTER_ALGORITHMS = ['hkb-v1', 'static', 'cheapest', 'best_quality'] as const;
export type RouterAlgorithm = (typeof ROUTER_ALGORITHMS)[number];

export const isRouterAlgorithm = (name: string): name is RouterAlgorithm =>
  (ROUTER_ALGORITHMS as readonly string[]).includes(name);

/** Below which similarity to everything remembered a request counts as unfamiliar. */
export type NoveltyGate = 'off' | 'p25' | 'p50';

/** What the dial means to the algorithm. */
export interface Tuning {
  /** Quality, of 1, given up to save what one request of the reference model costs. */
  readonly kappa: number;
  /** How much doubt counts against a model that is not the reference. */
  readonly z: number;
  readonly novelty: NoveltyGate;
}

/** The rules of one decision: settings of all levels, resolved. */
export interface Policy {
  readonly algorithm: RouterAlgorithm;
  /** In shadow the reference model answers, and the decision is only written down. */
  readonly mode: 'shadow' | 'on';
  /** 0 (quality) to 10 (savings). */
  readonly dial: number;
  /** The level of settings that had the last word, for the explanation. */
  readonly level: string;
  /** The model that answers in doubt; without one the best of the candidates by score. */
  readonly referenceModel?: string;
  /** Of 1: a model has to reach it with its doubt deducted. */
  readonly minQuality?: number;
  /** In nano-USD. */
  readonly maxCostPerRequest?: number;
  readonly latencyTargetMs?: number;
  /** Instead of what the dial means. */
  readonly tuning?: Tuning;
}

const dialPoints = [
  [0, 0],
  [2, 0.01],
  [4, 0.03],
  [5, 0.06],
  [7, 0.1],
  [10, 0.2],
] as const;

/** Saving most is the one preset without caution: full savings cannot be had with it. */
const cautionPoints: readonly { upTo: number; z: number; novelty: NoveltyGate }[] = [
  { upTo: 4, z: 0.6, novelty: 'p25' },
  { upTo: 6, z: 0.3, novelty: 'p25' },
  { upTo: 8, z: 0.6, novelty: 'p25' },
  { upTo: 10, z: 0, novelty: 'off' },
];

export function tuningOf(dial: number): Tuning {
  const at = Math.min(10, Math.max(0, Number.isFinite(dial) ? dial : 5));
  const { z, novelty } = cautionPoints.find(({ upTo }) => at <= upTo) ?? { z: 0, novelty: 'off' };
  return { kappa: kappaOf(at), z, novelty };
}

function kappaOf(dial: number): number {
  let [lowDial, lowKappa]: readonly [number, number] = dialPoints[0];
  for (const [highDial, highKappa] of dialPoints) {
    if (dial <= highDial) {
      const share = highDial === lowDial ? 0 : (dial - lowDial) / (highDial - lowDial);
      return lowKappa + share * (highKappa - lowKappa);
    }
    [lowDial, lowKappa] = [highDial, highKappa];
  }
  return lowKappa;
}
