import type { ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import { Escrow, type Hold } from '../../billing';
import { CatalogueService } from '../../catalogue';
import { fault, monotonicMs } from '../../kernel';
import { Settings } from '../../platform';
import { LaneHealth, planRoute, type RoutePlan, SupplierClient } from '../../routing';
import type { HttpRequest } from '../../web';
import { Lifecycle } from '../lifecycle';
import type { Reply } from '../reply/reply';
import { StreamSink } from '../reply/stream-sink';
import type { Work } from '../work';
import { type Admission, admit } from './admit';
import { type Answered, attempt, type AttemptTools } from './attempt';
import { type Call, describeCall } from './describe';
import { holdFor } from './hold';
import { type Inbound, intake } from './inbound';
import { collect, passThrough } from './relay';
import { settle } from './settle';

/** One inference request, from its bytes to its account. Each stage is a file of its own beside this one. */
@Injectable()
export class Pipeline {
  private readonly tools: AttemptTools;

  constructor(
    private readonly settings: Settings,
    private readonly catalogue: CatalogueService,
    private readonly escrow: Escrow,
    private readonly health: LaneHealth,
    client: SupplierClient,
    private readonly lifecycle: Lifecycle,
  ) {
    this.tools = { client, health, settings };
  }

  /** Answers the whole reply, or null once a stream has been sent. */
  async run(request: HttpRequest, response: ServerResponse): Promise<Reply | null> {
    const work = this.lifecycle.begin();
    stopWhenGone(response, work);
    let hold: Hold | null = null;
    try {
      const inbound = await intake(request, this.settings.bodyLimitBytes);
      const call = describeCall(inbound);
      const admission = admit(inbound, call, this.catalogue, this.lifecycle);
      const plan = this.plan(inbound, admission);
      const held = await holdFor(inbound, call, admission, this.escrow);
      ({ hold } = held);
      const answered = await attempt(inbound, call, held, plan, work, this.tools);
      return await (call.stream
        ? this.stream(inbound, call, hold, answered, response)
        : this.whole(inbound, call, hold, answered));
    } finally {
      // Whatever did not end in a settlement cost the caller nothing.
      hold?.release();
      this.lifecycle.end(work);
    }
  }

  private plan(inbound: Inbound, { lanes }: Admission): RoutePlan {
    const now = monotonicMs();
    const plan = planRoute({
      lanes,
      regions: inbound.caller.allowedRegions,
      stickyLaneId: null,
      stateOf: (lane) => this.health.breakerOf(lane).state(now),
      random: Math.random,
    });
    if (plan.lanes.length === 0) throw fault('sovereign_route_unavailable');
    return plan;
  }

  private async whole(inbound: Inbound, call: Call, hold: Hold, answered: Answered): Promise<Reply> {
    const delivery = await collect(answered, call);
    const facts = await settle(inbound, call, hold, answered, delivery);
    return { status: answered.head.status, contentType: delivery.contentType, body: delivery.body, facts };
  }

  private async stream(
    inbound: Inbound,
    call: Call,
    hold: Hold,
    answered: Answered,
    response: ServerResponse,
  ): Promise<null> {
    const sink = new StreamSink(response);
    const { lane } = answered.route;
    sink.head({
      supplier: lane.provider.name,
      region: lane.region,
      failover: answered.attempts.length > 1,
    });
    const delivery = await passThrough(answered, call, sink, inbound.requestId);
    const facts = await settle(inbound, call, hold, answered, delivery);
    sink.end(facts, delivery.last);
    return null;
  }
}

/** A caller that leaves before the answer is whole has no use for the rest of it. */
function stopWhenGone(response: ServerResponse, work: Work): void {
  response.on('close', () => {
    if (!response.writableFinished) work.stop(fault('stream_interrupted', { message: 'The caller left.' }));
  });
}
