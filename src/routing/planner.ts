import type { LaneOrder, PricedLane } from '../catalogue';
import type { BreakerState } from './health/breaker';

export interface PlanInput {
  readonly lanes: readonly PricedLane[];
  /** Null allows every region. */
  readonly regions: ReadonlySet<string> | null;
  readonly stickyLaneId: number | null;
  readonly order: LaneOrder;
  /** Time in ms until a lane's responses start; null if unknown. */
  readonly latencyOf: (lane: PricedLane['lane']) => number | null;
  readonly stateOf: (lane: PricedLane['lane']) => BreakerState;
  /** From 0 to 1; decides among lanes of one rank by their weights. */
  readonly random: () => number;
}

type LaneReason = 'primary' | 'backup' | 'sticky' | 'probe' | 'open';

export interface PlannedLane extends PricedLane {
  readonly why: LaneReason;
}

export interface RoutePlan {
  readonly lanes: readonly PlannedLane[];
  /** Number of lanes outside the allowed regions; they are never tried. */
  readonly outside: number;
  /** Whether gates removed lanes or changed their order. */
  readonly isGated?: true;
}

/**
 * Determines the order in which lanes are tried: regions remove lanes, then rank and weight apply. A session's lane
 * comes first while healthy; open lanes come last.
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

/** Ranks stay in order; within a rank, lanes are drawn by weight without replacement, or sorted. */
function orderRanks(lanes: readonly PricedLane[], input: PlanInput): readonly PricedLane[] {
  if (lanes.length < 2) return lanes;
  const ranks = Map.groupBy(lanes, ({ lane }) => lane.priority);
  return [...ranks.entries()].sort(([a], [b]) => a - b).flatMap(([, rank]) => orderRank(rank, input));
}

/** Equal lanes stay in the drawn order, so that none of them gets all requests. */
function orderRank(
  rank: readonly PricedLane[],
  { order, latencyOf, random }: PlanInput,
): readonly PricedLane[] {
  if (rank.length < 2) return rank;
  const drawn = drawByWeight(rank, random);
  if (order === 'price') return drawn.sort((a, b) => compare(comparablePrice(a), comparablePrice(b)));
  // An unmeasured lane comes first once, and is measured then.
  if (order === 'latency')
    return drawn.sort((a, b) => compare(latencyOf(a.lane) ?? -1, latencyOf(b.lane) ?? -1));
  return drawn;
}

const compare = <T extends number | bigint>(a: T, b: T): number => (a < b ? -1 : a > b ? 1 : 0);

/** Requests differ; a million input tokens plus a million output tokens is a fair measure. */
const comparablePrice = ({ price: { rates } }: PricedLane): bigint =>
  rates.input + rates.output + rates.perCallNano + rates.perMinuteNano;

function drawByWeight(rank: readonly PricedLane[], random: () => number): PricedLane[] {
  const remaining = [...rank];
  const drawn: PricedLane[] = [];
  while (remaining.length > 0) {
    const total = remaining.reduce((sum, { lane }) => sum + lane.weight, 0);
    let point = random() * total;
    let index = remaining.findIndex(({ lane }) => (point -= lane.weight) < 0);
    if (index === -1) index = remaining.length - 1;
    drawn.push(...remaining.splice(index, 1));
  }
  return drawn;
}
