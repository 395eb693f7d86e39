import { monotonicMs } from '../../kernel';
import type { LanePermit, PlannedLane } from '../../routing';
import type { RoutedCall } from '../admission';
import type { Work } from '../intake';
import type { AttemptTools } from './attempt-tools';
import { isCredentialRefused } from './judge';
import type { Tried } from './lane-call';

/** A longer pause is not worth waiting for: another lane is asked. */
const LONGEST_WAIT_MS = 2_000;
/** Callers who were refused at the same moment must not return at the same moment. */
const SPREAD_MS = 100;
const INTERNAL_ERROR = 500;

/** Asks the same lane again, where the catalogue says so: after a short limit, or after one internal error. */
export class SameLane {
  private repeats = 0;
  private hadInternalError = false;

  constructor(
    private readonly routed: RoutedCall,
    private readonly tools: AttemptTools,
    private readonly startedMs: number,
  ) {}

  /** The right to ask again, when there is one; a limit has been waited for by then. */
  async again({ lane }: PlannedLane, tried: Tried): Promise<LanePermit | null> {
    if (this.repeats >= lane.retries) return null;
    const waitMs = this.waitBefore(tried);
    if (waitMs === null || monotonicMs() + waitMs - this.startedMs > this.deadlineMs()) return null;
    const { health } = this.tools;
    if (!health.budgetOf(lane.provider.name).spend(monotonicMs())) return null;
    this.repeats += 1;
    const { work, call } = this.routed;
    if (waitMs > 0) await pauseWork(work, waitMs + Math.random() * SPREAD_MS);
    if (work.stopped !== null) throw work.stopped;
    return health.acquire(lane, call.inbound.caller.keyId, monotonicMs());
  }

  /** Null: asking again would not help. */
  private waitBefore(tried: Tried): number | null {
    if (tried.kind !== 'failed' || isCredentialRefused(tried)) return null;
    const { status, pauseMs } = tried;
    if (status === 429) return pauseMs > 0 && pauseMs <= LONGEST_WAIT_MS ? pauseMs : null;
    if (status !== INTERNAL_ERROR || this.hadInternalError) return null;
    this.hadInternalError = true;
    return 0;
  }

  private deadlineMs(): number {
    const { supplierStreamFirstByteTimeoutMs, supplierFirstByteTimeoutMs } = this.tools.settings;
    return this.routed.call.stream ? supplierStreamFirstByteTimeoutMs : supplierFirstByteTimeoutMs;
  }
}

/** Waits so long, or until the work is stopped (whichever is first). */
function pauseWork(work: Work, milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    work.watch({
      abort: () => {
        clearTimeout(timer);
        resolve();
      },
    });
  });
}
