import { monotonicMs } from '../../kernel';
import type { LaneHealth } from '../../routing';
import type { RoutedCall } from '../admission';

const LONGEST_WAIT_MS = 2_000;

/** A request without an available lane waits here for a probe by another request. */
export class ProbeWait {
  private readonly keyId: number;
  private until: number | null = null;

  constructor(
    private readonly routed: RoutedCall,
    private readonly health: LaneHealth,
  ) {
    this.keyId = routed.call.inbound.caller.keyId;
  }

  /** The answer says whether a lane is open to everybody again, within two seconds in all. */
  async succeeded(): Promise<boolean> {
    this.until ??= monotonicMs() + LONGEST_WAIT_MS;
    while (this.routed.work.stopped === null) {
      if (!(await this.oneEnded(this.until))) return false;
      const now = monotonicMs();
      const { lanes } = this.routed.plan;
      if (lanes.some(({ lane }) => this.health.stateOf(lane, this.keyId, now) === 'closed')) return true;
    }
    return false;
  }

  /** False: no probe is under way, too many requests wait for it, or time is up. */
  private oneEnded(until: number): Promise<boolean> {
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
