import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { CatalogueService, type LaneView } from '../../catalogue';
import { fault, MINUTE_MS, monotonicMs, SECOND_MS } from '../../kernel';
import { LaneHealth } from '../health/lane-health';
import type { LanePermit } from '../health/lane-permit';
import { type ProbeResult, SupplierProbe } from './supplier-probe';

/** Id of no key: the result counts for the lane only. */
const NO_KEY = 0;
/** Pause after an inconclusive probe, such as a refusal of the probe itself; meanwhile only callers try the lane. */
const INCONCLUSIVE_PAUSE_MS = MINUTE_MS;

/** Time without calls after which a lane is probed here; callers' requests are better probes. */
const MIN_IDLE_MS = 20 * SECOND_MS;

/** Probes open lanes of chat models that no caller has tried since their probe was due, so that they close again. */
@Injectable()
export class LaneProber implements OnApplicationShutdown {
  private timer: NodeJS.Timeout | undefined;
  private probing: Promise<unknown> = Promise.resolve();
  private readonly pausedUntil = new WeakMap<object, number>();

  constructor(
    private readonly catalogue: CatalogueService,
    private readonly health: LaneHealth,
    private readonly probe: SupplierProbe,
  ) {}

  start(): void {
    this.timer = setInterval(() => {
      this.probing = Promise.all([this.probing, this.probeDue()]);
    }, SECOND_MS).unref();
  }

  async onApplicationShutdown(): Promise<void> {
    clearInterval(this.timer);
    await this.probing;
  }

  async probeDue(now = monotonicMs()): Promise<void> {
    const dueRoutes = this.health
      .routesDueForProbe(now - MIN_IDLE_MS)
      .filter((route) => (this.pausedUntil.get(route) ?? now) <= now);
    if (dueRoutes.length === 0) return;
    const lanes = this.catalogue.snapshot.models
      .filter(({ kind }) => kind === 'chat')
      .flatMap((model) => model.lanes);
    await Promise.all(
      dueRoutes.map(async (route) => {
        const lane = lanes.find(
          ({ provider, upstreamModel, region }) =>
            provider.name === route.supplier && upstreamModel === route.model && region === route.region,
        );
        const permit = lane === undefined ? null : this.health.acquire(lane, NO_KEY, now);
        if (lane === undefined || permit === null) return;
        if (!(await this.probeLane(lane, permit))) this.pausedUntil.set(route, now + INCONCLUSIVE_PAUSE_MS);
      }),
    );
  }

  /** Returns whether the result is conclusive for the lane. */
  private async probeLane(
    { provider, upstreamModel, region }: LaneView,
    permit: LanePermit,
  ): Promise<boolean> {
    const result = await this.probe.run({ provider, model: upstreamModel, region, stored: provider });
    const now = monotonicMs();
    if (result.ok) {
      permit.responseStarted(now);
      permit.succeeded(now);
    } else if (isFailureOfLane(result)) {
      permit.failed(now, {
        problem: fault('upstream_unavailable', { message: result.message ?? 'The supplier did not answer.' }),
        status: result.status,
        isCallerMayBeCause: false,
        owner: 'probe',
        milliseconds: result.latencyMs,
      });
    } else {
      permit.neutral();
      return false;
    }
    return true;
  }
}

const isFailureOfLane = ({ status, failure }: ProbeResult): boolean =>
  status === null ? failure !== 'configuration' && failure !== 'address' : status >= 500;
