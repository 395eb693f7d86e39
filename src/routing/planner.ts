import type { LaneOrder, PricedLane } from '../catalogue';
import type { BreakerState } from './health/breaker';

export interface PlanInput {
  readonly lanes: readonly PricedLane[];
  /** Null allows every region. */
  readonly regions: ReadonlySet<string> | null;
  readonly stickyLaneId: number | null;
  /** Lanes of one rank are ordered by it. */
  readonly order: LaneOrder;
  /** A lane's answers take so many milliseconds to begin; null while unknown. */
  readonly latencyOf: (lane: PricedLane['lane']) => number | null;
  readonly stateOf: (lane: PricedLane['lane']) => BreakerState;
  /** It lies between 0 and 1, and decides among lanes of one rank by their weights. */
  readonly random: () => number;
}

type LaneReason = 'primary' | 'backup' | 'sticky' | 'probe' | 'open';

export interface PlannedLane extends PricedLane {
  readonly why: LaneReason;
}

export interface RoutePlan {
  /** They are in the order in which they are tried. */
  readonly lanes: readonly PlannedLane[];
  /** Lanes that exist but lie outside the allowed regions; they are never tried. */
  readonly outside: number;
  /** Gates took lanes away, or chose their order. */
  readonly isGated?: true;
}

/**
 * The order in which lanes are tried, as a pure function. Regions remove lanes for good; then rank, then weight; a
 * session's own lane comes first while healthy; open lanes come last.
 */
export function planRoute(input: PlanInput): RoutePlan {
  const { lanes, regions, stickyLaneId, stateOf } = input;
  const inside = regions === null ? lanes : lanes.filter(({ lane }) => regions.has(lane.region));
  const healthy: PlannedLane[] = [];
  const open: PlannedLane[] = [];
  const best = inside[0]?.lane.priority;
  for (const priced of orderRanks(inside, input)) {
    const state = stateOf(priced.lane);
    if (state === 'open') open.push({ ...priced, why: 'open' });
    else if (state === 'half-open') healthy.push({ ...priced, why: 'probe' });
    else healthy.push({ ...priced, why: priced.lane.priority === best ? 'primary' : 'backup' });
  }
  const sticky = healthy.findIndex(({ lane, why }) => lane.id === stickyLaneId && why !== 'probe');
  if (sticky > 0)
    healthy.unshift(...healthy.splice(sticky, 1).map((lane) => ({ ...lane, why: 'sticky' as const })));
  return { lanes: [...healthy, ...open], outside: lanes.length - inside.length };
}

/** Ranks stay in order; within one, lanes are drawn by their weights without replacement, or sorted. */
function orderRanks(lanes: readonly PricedLane[], input: PlanInput): readonly PricedLane[] {
  if (lanes.length < 2) return lanes;
  const ranks = Map.groupBy(lanes, ({ lane }) => lane.priority);
  return [...ranks.entries()].sort(([a], [b]) => a - b).flatMap(([, rank]) => orderRank(rank, input));
}

/** Lanes that are alike stay in a drawn order, so that none of them gets everything. */
function orderRank(
  rank: readonly PricedLane[],
  { order, latencyOf, random }: PlanInput,
): readonly PricedLane[] {
  if (rank.length < 2) return rank;
  const drawn = drawByWeight(rank, random);
  if (order === 'price') return drawn.sort((a, b) => compare(costliness(a), costliness(b)));
  // An unknown one comes first once, and is known then.
  if (order === 'latency')
    return drawn.sort((a, b) => compare(latencyOf(a.lane) ?? -1, latencyOf(b.lane) ?? -1));
  return drawn;
}

const compare = <T extends number | bigint>(a: T, b: T): number => (a < b ? -1 : a > b ? 1 : 0);

/** Requests differ; a million tokens in and as many out are as good a measure as any. */
const costliness = ({ price: { rates } }: PricedLane): bigint =>
  rates.input + rates.output + rates.perCallNano + rates.perMinuteNano;

function drawByWeight(rank: readonly PricedLane[], random: () => number): PricedLane[] {
  const left = [...rank];
  const drawn: PricedLane[] = [];
  while (left.length > 0) {
    const total = left.reduce((sum, { lane }) => sum + lane.weight, 0);
    let point = random() * total;
    let index = left.findIndex(({ lane }) => (point -= lane.weight) < 0);
    if (index === -1) index = left.length - 1;
    drawn.push(...left.splice(index, 1));
  }
  return drawn;
}
