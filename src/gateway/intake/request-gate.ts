import type { ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import { fault } from '../../kernel';
import {
  type Caller,
  OpenCalls,
  parallelRefusal,
  RateLimiter,
  rateRefusal,
  type RateVerdict,
  setRateHeaders,
} from '../../keys';
import { Logger } from '../../platform';
import type { HttpRequest } from '../../web';
import { Lifecycle } from './lifecycle';
import type { Work } from './work';

/** A request inside the gateway. Its handler calls `leave` exactly once, at the end. */
export interface AdmittedRequest {
  readonly caller: Caller;
  readonly work: Work;
  readonly leave: () => void;
}

/**
 * The first checks of every request, before its body: capacity, shutdown, and the key's rate. Inside, a request ends
 * early when its caller disconnects or its key is revoked.
 */
@Injectable()
export class RequestGate {
  constructor(
    private readonly lifecycle: Lifecycle,
    private readonly rates: RateLimiter,
    private readonly openCalls: OpenCalls,
    private readonly logger: Logger,
  ) {}

  /** Asynchronous only for a rate shared between nodes. */
  admit(request: HttpRequest, response: ServerResponse): AdmittedRequest | Promise<AdmittedRequest> {
    const { caller } = request;
    if (caller === undefined) throw fault('missing_api_key');
    const work = this.lifecycle.begin();
    try {
      stopWhenGone(response, work);
      if (caller.maxParallel !== null)
        return this.admitOneOf(request, caller, work, caller.maxParallel, response);
      const taken = this.rates.take(caller);
      if (taken instanceof Promise) return this.admitLater(request, caller, work, taken, response);
      return this.pass(request, caller, work, taken, response);
    } catch (error) {
      this.lifecycle.end(work);
      throw error;
    }
  }

  private async admitLater(
    request: HttpRequest,
    caller: Caller,
    work: Work,
    taken: Promise<RateVerdict>,
    response: ServerResponse,
  ): Promise<AdmittedRequest> {
    try {
      return this.pass(request, caller, work, await taken, response);
    } catch (error) {
      this.lifecycle.end(work);
      throw error;
    }
  }

  /** The place is taken first: a request refused for lack of one has not started. */
  private async admitOneOf(
    request: HttpRequest,
    caller: Caller,
    work: Work,
    most: number,
    response: ServerResponse,
  ): Promise<AdmittedRequest> {
    try {
      const place = await this.rates.enter(caller.keyId, most);
      const refusal = parallelRefusal(place);
      if (refusal !== null) throw refusal;
      const leavePlace = (): void => this.rates.leave(caller.keyId, place);
      try {
        const admitted = this.pass(request, caller, work, await this.rates.take(caller), response);
        const leave = (): void => {
          leavePlace();
          admitted.leave();
        };
        return { ...admitted, leave };
      } catch (error) {
        leavePlace();
        throw error;
      }
    } catch (error) {
      this.lifecycle.end(work);
      throw error;
    }
  }

  private pass(
    request: HttpRequest,
    caller: Caller,
    work: Work,
    verdict: RateVerdict,
    response: ServerResponse,
  ): AdmittedRequest {
    setRateHeaders(response, verdict);
    const refusal = rateRefusal(verdict);
    if (refusal !== null) throw refusal;
    const untrack = this.openCalls.track(caller, (reason) =>
      work.stop(fault('stream_interrupted', { message: reason.humanMessage, cause: reason })),
    );
    const leave = (): void => {
      untrack();
      this.lifecycle.end(work);
      if (work.callerLeft) this.note(request, caller, work);
    };
    return { caller, work, leave };
  }

  private note(
    { requestId, clientRequestId, url }: HttpRequest,
    { keyId }: Caller,
    { stoppedByCaller }: Work,
  ): void {
    const went = stoppedByCaller ? 'stopped' : 'carried out';
    this.logger.info('caller left', {
      request_id: requestId,
      client_request_id: clientRequestId ?? undefined,
      path: url,
      key_id: keyId,
      call: went,
    });
  }
}

/** A caller that disconnects early has no use for the rest of the answer. */
function stopWhenGone(response: ServerResponse, work: Work): void {
  response.on('close', () => {
    if (!response.writableFinished) work.leave();
  });
}
