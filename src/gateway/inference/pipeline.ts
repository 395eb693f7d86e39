import type { ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import { CatalogueService } from '../../catalogue';
import { Database, Settings } from '../../platform';
import { SupplierClient } from '../../routing';
import type { HttpRequest } from '../../web';
import { Lifecycle } from '../lifecycle';
import type { Reply } from '../reply/reply';
import { StreamSink } from '../reply/stream-sink';
import { admit } from './admit';
import { type Answered, attempt } from './attempt';
import { type Call, describeCall } from './describe';
import { type Inbound, intake } from './inbound';
import { collect, passThrough } from './relay';
import { settle } from './settle';

/** One inference request, from its bytes to its account. Each stage is a file of its own beside this one. */
@Injectable()
export class Pipeline {
  constructor(
    private readonly settings: Settings,
    private readonly database: Database,
    private readonly catalogue: CatalogueService,
    private readonly client: SupplierClient,
    private readonly lifecycle: Lifecycle,
  ) {}

  /** Answers the whole reply, or null once a stream has been sent. */
  async run(request: HttpRequest, response: ServerResponse): Promise<Reply | null> {
    this.lifecycle.begin();
    try {
      const inbound = await intake(request, this.settings.bodyLimitBytes);
      const call = describeCall(inbound);
      const admission = admit(inbound, call, this.catalogue, this.lifecycle);
      const answered = await attempt(inbound, call, admission, this.client, this.settings);
      const streams = call.stream && answered.head.status < 300;
      return await (streams
        ? this.stream(inbound, call, answered, response)
        : this.whole(inbound, call, answered));
    } finally {
      this.lifecycle.end();
    }
  }

  private async whole(inbound: Inbound, call: Call, answered: Answered): Promise<Reply> {
    const delivery = await collect(answered);
    const facts = await settle(this.database, inbound, call, answered, delivery);
    return { status: answered.head.status, contentType: delivery.contentType, body: delivery.body, facts };
  }

  private async stream(
    inbound: Inbound,
    call: Call,
    answered: Answered,
    response: ServerResponse,
  ): Promise<null> {
    const sink = new StreamSink(response);
    sink.head({
      supplier: answered.route.lane.provider.name,
      region: answered.route.lane.region,
      failover: answered.attempts.length > 1,
    });
    const delivery = await passThrough(answered, sink, inbound.requestId);
    const facts = await settle(this.database, inbound, call, answered, delivery);
    sink.end(facts, delivery.last);
    return null;
  }
}
