import type { ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import { fault } from '../../kernel';
import { type Caller, OpenCalls, rateHeaders, RateLimiter, rateRefusal } from '../../keys';
import type { HttpRequest } from '../../web';
import { Lifecycle } from '../lifecycle';
import type { Work } from '../work';

/**
 * What every request passes before anything of it is read: the service has room and is not stopping, the key has not
 * used up its minute. While it is inside, it ends early when its caller leaves or its key is lost.
 */
@Injectable()
export class Doorway {
  constructor(
    private readonly lifecycle: Lifecycle,
    private readonly rates: RateLimiter,
    private readonly openCalls: OpenCalls,
  ) {}

  async admit<T>(
    request: HttpRequest,
    response: ServerResponse,
    serve: (caller: Caller, work: Work) => Promise<T>,
  ): Promise<T> {
    const { caller } = request;
    if (caller === undefined) throw fault('missing_api_key');
    const work = this.lifecycle.begin();
    let untrack: (() => void) | undefined;
    try {
      stopWhenGone(response, work);
      await this.takeRate(caller, response);
      untrack = this.openCalls.track(caller, (reason) =>
        work.stop(fault('stream_interrupted', { message: reason.humanMessage, cause: reason })),
      );
      return await serve(caller, work);
    } finally {
      untrack?.();
      this.lifecycle.end(work);
    }
  }

  private async takeRate(caller: Caller, response: ServerResponse): Promise<void> {
    const taken = this.rates.take(caller);
    const verdict = taken instanceof Promise ? await taken : taken;
    for (const [name, value] of Object.entries(rateHeaders(verdict))) response.setHeader(name, value);
    const refusal = rateRefusal(verdict);
    if (refusal !== null) throw refusal;
  }
}

/** A caller that leaves before the answer is whole has no use for the rest of it. */
function stopWhenGone(response: ServerResponse, work: Work): void {
  response.on('close', () => {
    if (!response.writableFinished) work.stop(fault('stream_interrupted', { message: 'The caller left.' }));
  });
}
