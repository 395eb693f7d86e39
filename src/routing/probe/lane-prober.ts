import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { CatalogueService, type LaneView } from '../../catalogue';
import { fault, MINUTE_MS, monotonicMs, SECOND_MS } from '../../kernel';
import { LaneHealth } from '../health/lane-health';
import type { LanePermit } from '../health/lane-permit';
import { type ProbeResult, SupplierProbe } from './supplier-probe';

/** No key has it: the result counts for the lane alone. */
const NO_KEY = 0;
/** A refusal of the probe itself says nothing about the lane, so the lane is left to callers for a while. */
const INCONCLUSIVE_MS = MINUTE_MS;

/** A lane that is called is probed by its callers, whose requests say more than ours. */
const UNCALLED_MS = 20 * SECOND_MS;

/** Calls lanes of chat models that are open and that nobody calls once their rest is over, so that they close. */
@Injectable()
export class LaneProber implements OnApplicationShutdown {
  private timer: NodeJS.Timeout | undefined;
  private probing: Promise<unknown> = Promise.resolve();
  private readonly leftUntil = new WeakMap<object, number>();

  constructor(
    private readonly catalogue: CatalogueService,
    private readonly health: LaneHealth,
    private readonly probe: SupplierProbe,
  ) {}

  start(): void {
    this.timer = setInterval(() => {
      this.probing = Promise.all([this.probing, this.probeRested()]);
    }, SECOND_MS).unref();
  }

  async onApplicationShutdown(): Promise<void> {
    clearInterval(this.timer);
    await this.probing;
  }

  async probeRested(now = monotonicMs()): Promise<void> {
    const rested = this.health
      .restedRoutes(now - UNCALLED_MS)
      .filter((route) => (this.leftUntil.get(route) ?? now) <= now);
    if (rested.length === 0) return;
    const lanes = this.catalogue.snapshot.models
      .filter(({ kind }) => kind === 'chat')
      .flatMap((model) => model.lanes);
    await Promise.all(
      rested.map(async (route) => {
        const lane = lanes.find(
          ({ provider, upstreamModel, region }) =>
            provider.name === route.supplier && upstreamModel === route.model && region === route.region,
        );
        const permit = lane === undefined ? null : this.health.acquire(lane, NO_KEY, now);
        if (lane === undefined || permit === null) return;
        if (!(await this.settle(lane, permit))) this.leftUntil.set(route, now + INCONCLUSIVE_MS);
      }),
    );
  }

  /** Returns whether the result says anything about the lane. */
  private async settle({ provider, upstreamModel, region }: LaneView, permit: LanePermit): Promise<boolean> {
    const result = await this.probe.run({ provider, model: upstreamModel, region, stored: provider });
    const now = monotonicMs();
    if (result.ok) {
      permit.answering(now);
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
