import type { ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import { Escrow, type Hold } from '../../billing';
import { CatalogueService } from '../../catalogue';
import { fault, monotonicMs } from '../../kernel';
import { Settings } from '../../platform';
import { planRoute, type RoutePlan } from '../../routing';
import type { HttpRequest } from '../../web';
import type { Reply } from '../reply/reply';
import { StreamSink } from '../reply/stream-sink';
import { type Admission, admit } from './admit';
import { type Answered, attempt, AttemptTools } from './attempt';
import { type Call, describeCall } from './describe';
import { Doorway } from './doorway';
import { holdFor } from './hold';
import { type Inbound, intake } from './inbound';
import { Observer } from './observer';
import { relayStream } from './relay-stream';
import { relayWhole } from './relay-whole';
import { settle } from './settle';
import { isText, type Surface, type TextSurface } from './surface';

/** One inference request, from its bytes to its account. Each stage is a file of its own beside this one. */
@Injectable()
export class Pipeline {
  constructor(
    private readonly settings: Settings,
    private readonly doorway: Doorway,
    private readonly catalogue: CatalogueService,
    private readonly escrow: Escrow,
    private readonly tools: AttemptTools,
    private readonly observer: Observer,
  ) {}

  /** Answers the whole reply, or null once a stream has been sent. */
  async run(surface: Surface, request: HttpRequest, response: ServerResponse): Promise<Reply | null> {
    let model = '';
    try {
      return await this.doorway.admit(request, response, async (caller, work) => {
        const inbound = await intake(request, caller, this.settings.bodyLimitBytes);
        const call = describeCall(inbound, surface);
        const admission = admit(inbound, call, this.catalogue);
        model = admission.model.name;
        const plan = this.plan(inbound, call, admission);
        const held = await holdFor(inbound, call, admission, this.escrow);
        try {
          const answered = await attempt(inbound, call, admission, held, plan, work, this.tools);
          return await (call.stream && isText(surface)
            ? this.stream(inbound, call, surface, held.hold, answered, response)
            : this.whole(inbound, call, held.hold, answered));
        } finally {
          // Whatever did not end in a settlement cost the caller nothing.
          held.hold.release();
        }
      });
    } catch (error) {
      this.observer.failed(surface.name, model, error);
      throw error;
    }
  }

  private plan(inbound: Inbound, call: Call, { lanes }: Admission): RoutePlan {
    const now = monotonicMs();
    const plan = planRoute({
      lanes,
      regions: regionsFor(inbound, call),
      stickyLaneId: null,
      stateOf: (lane) => this.tools.health.breakerOf(lane).state(now),
      random: Math.random,
    });
    if (plan.lanes.length === 0) throw fault('sovereign_route_unavailable');
    return plan;
  }

  private async whole(inbound: Inbound, call: Call, hold: Hold, answered: Answered): Promise<Reply> {
    const delivery = await relayWhole(inbound, call, answered);
    const facts = await settle(inbound, call, hold, answered, delivery);
    this.observer.served(call, answered, delivery, facts);
    return { status: answered.status, contentType: delivery.contentType, body: delivery.body, facts };
  }

  private async stream(
    inbound: Inbound,
    call: Call,
    surface: TextSurface,
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
    const delivery = await relayStream(inbound, call, surface, answered, sink);
    const facts = await settle(inbound, call, hold, answered, delivery);
    this.observer.served(call, answered, delivery, facts);
    sink.end(facts, delivery.last);
    return null;
  }
}

/** The key's regions and the call's own: each only narrows. */
function regionsFor({ caller }: Inbound, { region }: Call): ReadonlySet<string> | null {
  const { allowedRegions } = caller;
  if (region === null) return allowedRegions;
  return new Set(allowedRegions === null || allowedRegions.has(region) ? [region] : []);
}
