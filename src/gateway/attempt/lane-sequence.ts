import type { AttemptRecord } from '../../audit';
import { monotonicMs } from '../../kernel';
import type { LanePermit, PlannedLane } from '../../routing';
import type { RoutedCall } from '../admission';
import type { AttemptTools } from './attempt-tools';
import type { FailedAttempt } from './classify-failure';
import type { AttemptResult } from './lane-call';

/** Maximum number of lanes per request, across all models. */
export const MAX_LANES = 3;

export class LaneSequence {
  private position = 0;
  private isReserved = false;

  constructor(
    private readonly routed: RoutedCall,
    private readonly tools: AttemptTools,
    private readonly records: readonly AttemptRecord[],
    private readonly startedMs: number,
  ) {}

  get hasMore(): boolean {
    const next = this.routed.plan.lanes[this.position];
    if (next === undefined || next.why === 'open' || countLanes(this.records) >= MAX_LANES) return false;
    return this.tools.health.budgetOf(next.lane.provider.name).canSpend(monotonicMs());
  }

  next(outcomes: readonly FailedAttempt[]): PlannedLane | null {
    const route = this.routed.plan.lanes[this.position];
    if (route === undefined || !this.canContinue(outcomes)) return null;
    this.position += 1;
    return route;
  }

  restart(): void {
    this.position = 0;
  }

  /** Reserves the next attempt from the retry budget; returns false if there is none. */
  reserve(): boolean {
    if (!this.hasMore) return false;
    const { provider } = this.routed.plan.lanes[this.position]!.lane;
    this.isReserved ||= this.tools.health.budgetOf(provider.name).spend(monotonicMs());
    return this.isReserved;
  }

  /** Takes the permit for a lane: its circuit breaker must not be open, unless all are, and a retry needs budget. */
  acquire({ lane }: PlannedLane, now: number): LanePermit | null {
    const { health } = this.tools;
    const { lanes } = this.routed.plan;
    const { keyId } = this.routed.call.inbound.caller;
    if (lanes[0]?.why === 'open') return health.acquireAsLast(lane, keyId, now);
    if (health.stateOf(lane, keyId, now) === 'open') return null;
    const isRetry = this.records.length > 0;
    if (isRetry && !this.isReserved && !health.budgetOf(lane.provider.name).spend(now)) return null;
    this.isReserved = false;
    if (!isRetry) for (const each of lanes) health.budgetOf(each.lane.provider.name).firstTry();
    return health.acquire(lane, keyId, now);
  }

  isFailover({ lane }: PlannedLane): boolean {
    const { lanes, isGated } = this.routed.plan;
    if (this.records.some((record) => !isOfLane(record, lane))) return true;
    // The order that gates chose is not a failover.
    return isGated !== true && lanes.some(({ lane: other }) => other.priority < lane.priority);
  }

  /** Stops after one lane if all circuit breakers are open, and after two slow failures. */
  private canContinue(outcomes: readonly FailedAttempt[]): boolean {
    if (outcomes.length === 0) return true;
    const { plan } = this.routed;
    const isLate =
      outcomes.length > 1 && monotonicMs() - this.startedMs > this.tools.settings.supplierFirstByteTimeoutMs;
    return countLanes(this.records) < MAX_LANES && plan.lanes[0]?.why !== 'open' && !isLate;
  }
}

type AttemptLane = PlannedLane['lane'];

export const recordOf = (
  { lane }: PlannedLane,
  result: AttemptResult,
  milliseconds: number,
): AttemptRecord => ({
  supplier: lane.provider.name,
  region: lane.region,
  model: lane.upstreamModel,
  status: result.kind === 'answered' ? result.answer.status : result.status,
  milliseconds: Math.round(milliseconds),
  outcome: result.kind === 'answered' ? 'answered' : result.problem.outcome,
});

const isOfLane = (record: AttemptRecord, { provider, upstreamModel, region }: AttemptLane): boolean =>
  record.supplier === provider.name && record.model === upstreamModel && record.region === region;

const isSameLane = (a: AttemptRecord, b: AttemptRecord): boolean =>
  a.supplier === b.supplier && a.model === b.model && a.region === b.region;

/** Number of lanes that were tried; retries of the same lane count once. */
export const countLanes = (records: readonly AttemptRecord[]): number =>
  records.filter((record, index) => index === 0 || !isSameLane(record, records[index - 1]!)).length;

export const failoversIn = (
  records: readonly AttemptRecord[],
): { readonly from: AttemptRecord; readonly to: AttemptRecord }[] =>
  records.flatMap((to, index) => {
    const from = records[index - 1];
    return from === undefined || isSameLane(from, to) ? [] : [{ from, to }];
  });
