import type { AttemptRecord } from '../../audit';
import { monotonicMs } from '../../kernel';
import type { LanePermit, PlannedLane } from '../../routing';
import type { RoutedCall } from '../admission';
import type { AttemptTools } from './attempt-tools';
import type { Judgement } from './judge';
import type { Tried } from './lane-call';

/** One request has at most so many, whichever models it goes to. */
export const MOST_LANES = 3;

/** Chooses the next lane of a request, with its permit and retry budget. */
export class LaneTurns {
  private place = 0;
  /** The next try is paid for already. */
  private reserved = false;

  constructor(
    private readonly routed: RoutedCall,
    private readonly tools: AttemptTools,
    /** Every try for this request, of an earlier model too. */
    private readonly records: readonly AttemptRecord[],
    private readonly startedMs: number,
  ) {}

  /** This says whether another lane could be tried. Healthy ones come first in a plan. */
  get hasMore(): boolean {
    const next = this.routed.plan.lanes[this.place];
    if (next === undefined || next.why === 'open' || lanesIn(this.records) >= MOST_LANES) return false;
    return this.tools.health.budgetOf(next.lane.provider.name).affords(monotonicMs());
  }

  /** The lane whose turn it is after these outcomes; null when there is none. */
  next(outcomes: readonly Judgement[]): PlannedLane | null {
    const route = this.routed.plan.lanes[this.place];
    if (route === undefined || !this.mayContinue(outcomes)) return null;
    this.place += 1;
    return route;
  }

  restart(): void {
    this.place = 0;
  }

  /** Reserves the next try: only if there is one is it worth giving up this call. */
  reserve(): boolean {
    if (!this.hasMore) return false;
    const { provider } = this.routed.plan.lanes[this.place]!.lane;
    this.reserved ||= this.tools.health.budgetOf(provider.name).spend(monotonicMs());
    return this.reserved;
  }

  /** Takes the permit for a lane: it must not rest, unless all of them do, and a retry needs budget. */
  acquire({ lane }: PlannedLane, now: number): LanePermit | null {
    const { health } = this.tools;
    const { lanes } = this.routed.plan;
    const { keyId } = this.routed.call.inbound.caller;
    if (lanes[0]?.why === 'open') return health.acquireAsLast(lane, keyId, now);
    if (health.stateOf(lane, keyId, now) === 'open') return null;
    const isRetry = this.records.length > 0;
    if (isRetry && !this.reserved && !health.budgetOf(lane.provider.name).spend(now)) return null;
    this.reserved = false;
    if (!isRetry) for (const each of lanes) health.budgetOf(each.lane.provider.name).firstTry();
    return health.acquire(lane, keyId, now);
  }

  /** A stand-in answered: a better lane failed, or was passed over, if only for a session. */
  isFailover({ lane }: PlannedLane): boolean {
    const { lanes, isGated } = this.routed.plan;
    if (this.records.some((record) => !isOfLane(record, lane))) return true;
    // The order of gates is the one that is wanted.
    return isGated !== true && lanes.some(({ lane: other }) => other.priority < lane.priority);
  }

  /** Where every lane rests, only one is tried; and after two slow failures there is no third try. */
  private mayContinue(outcomes: readonly Judgement[]): boolean {
    if (outcomes.length === 0) return true;
    const { plan } = this.routed;
    const isLate =
      outcomes.length > 1 && monotonicMs() - this.startedMs > this.tools.settings.supplierFirstByteTimeoutMs;
    return lanesIn(this.records) < MOST_LANES && plan.lanes[0]?.why !== 'open' && !isLate;
  }
}

type Lane = PlannedLane['lane'];

export const recordOf = ({ lane }: PlannedLane, tried: Tried, milliseconds: number): AttemptRecord => ({
  supplier: lane.provider.name,
  region: lane.region,
  model: lane.upstreamModel,
  status: tried.kind === 'answered' ? tried.answer.status : tried.status,
  milliseconds: Math.round(milliseconds),
  outcome: tried.kind === 'answered' ? 'answered' : tried.problem.outcome,
});

const isOfLane = (record: AttemptRecord, { provider, upstreamModel, region }: Lane): boolean =>
  record.supplier === provider.name && record.model === upstreamModel && record.region === region;

const isSameLane = (a: AttemptRecord, b: AttemptRecord): boolean =>
  a.supplier === b.supplier && a.model === b.model && a.region === b.region;

/** The count is of lanes that were tried: one that was asked again counts once. */
export const lanesIn = (records: readonly AttemptRecord[]): number =>
  records.filter((record, place) => place === 0 || !isSameLane(record, records[place - 1]!)).length;

/** It returns each step from one lane to another. */
export const failoversIn = (
  records: readonly AttemptRecord[],
): { readonly from: AttemptRecord; readonly to: AttemptRecord }[] =>
  records.flatMap((to, place) => {
    const from = records[place - 1];
    return from === undefined || isSameLane(from, to) ? [] : [{ from, to }];
  });
