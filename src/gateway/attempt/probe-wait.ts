import { monotonicMs } from '../../kernel';
import type { LaneHealth } from '../../routing';
import type { RoutedCall } from '../admission';

const MAX_WAIT_MS = 2_000;

export class ProbeWait {
  private readonly keyId: number;
  private until: number | null = null;

  constructor(
    private readonly routed: RoutedCall,
    private readonly health: LaneHealth,
  ) {
    this.keyId = routed.call.inbound.caller.keyId;
  }

  /** Returns true once a lane's circuit breaker is closed, within the maximum wait in total. */
  async waitForLane(): Promise<boolean> {
    this.until ??= monotonicMs() + MAX_WAIT_MS;
    while (this.routed.work.stopped === null) {
      if (!(await this.waitForProbe(this.until))) return false;
      const now = monotonicMs();
      const { lanes } = this.routed.plan;
      if (lanes.some(({ lane }) => this.health.stateOf(lane, this.keyId, now) === 'closed')) return true;
    }
    return false;
  }

  /** Returns false if no probe is in flight, too many requests wait for it, or time is up. */
  private waitForProbe(until: number): Promise<boolean> {
    const now = monotonicMs();
    const { plan, work } = this.routed;
    if (now >= until) return Promise.resolve(false);
    return new Promise((resolve) => {
      const timer = setTimeout(() => end(false), until - now);
      const cancels = plan.lanes.map(({ lane }) =>
        this.health.waitForProbe(lane, this.keyId, now, () => end(true)),
      );
      const end = (isProbed: boolean): void => {
        clearTimeout(timer);
        for (const cancel of cancels) cancel?.();
        resolve(isProbed);
      };
      if (cancels.every((cancel) => cancel === null)) end(false);
      else work.watch({ abort: () => end(false) });
    });
  }
}
