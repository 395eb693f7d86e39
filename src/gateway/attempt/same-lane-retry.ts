import { monotonicMs } from '../../kernel';
import type { LanePermit, PlannedLane } from '../../routing';
import type { RoutedCall } from '../admission';
import type { RequestWork } from '../intake';
import type { AttemptTools } from './attempt-tools';
import { isCredentialRefused } from './classify-failure';
import type { AttemptResult } from './lane-call';

/** If the supplier asks for a longer pause, another lane is called instead. */
const MAX_RETRY_WAIT_MS = 2_000;
/** Jitter, so that callers refused simultaneously do not retry simultaneously. */
const JITTER_MS = 100;
const INTERNAL_ERROR = 500;

/** Retries the same lane if the catalogue allows it: after a short rate limit, or after one internal error. */
export class SameLaneRetry {
  private repeats = 0;
  private hadInternalError = false;

  constructor(
    private readonly routed: RoutedCall,
    private readonly tools: AttemptTools,
    private readonly startedMs: number,
  ) {}

  async retry({ lane }: PlannedLane, result: AttemptResult): Promise<LanePermit | null> {
    if (this.repeats >= lane.retries) return null;
    const waitMs = this.waitBeforeRetry(result);
    if (waitMs === null || monotonicMs() + waitMs - this.startedMs > this.deadlineMs()) return null;
    const { health } = this.tools;
    if (!health.budgetOf(lane.provider.name).spend(monotonicMs())) return null;
    this.repeats += 1;
    const { work, call } = this.routed;
    if (waitMs > 0) await pauseWork(work, waitMs + Math.random() * JITTER_MS);
    if (work.stopped !== null) throw work.stopped;
    return health.acquire(lane, call.inbound.caller.keyId, monotonicMs());
  }

  private waitBeforeRetry(result: AttemptResult): number | null {
    if (result.kind !== 'failed' || isCredentialRefused(result)) return null;
    const { status, pauseMs } = result;
    if (status === 429) return pauseMs > 0 && pauseMs <= MAX_RETRY_WAIT_MS ? pauseMs : null;
    if (status !== INTERNAL_ERROR || this.hadInternalError) return null;
    this.hadInternalError = true;
    return 0;
  }

  private deadlineMs(): number {
    const { supplierStreamFirstByteTimeoutMs, supplierFirstByteTimeoutMs } = this.tools.settings;
    return this.routed.call.stream ? supplierStreamFirstByteTimeoutMs : supplierFirstByteTimeoutMs;
  }
}

function pauseWork(work: RequestWork, milliseconds: number): Promise<void> {
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
