import type { ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import { fault, type MaybePromise } from '../../kernel';
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
import type { RequestWork } from './work';

/** A request inside the gateway. Its handler calls `leave` exactly once, at the end. */
export interface AdmittedRequest {
  readonly caller: Caller;
  readonly work: RequestWork;
  readonly leave: () => void;
}

/**
 * First checks of every request, before its body is read: shutdown, capacity, and the key's rate. An admitted request
 * ends early if its caller disconnects or its key is revoked.
 */
@Injectable()
export class RequestGate {
  constructor(
    private readonly lifecycle: Lifecycle,
    private readonly rates: RateLimiter,
    private readonly openCalls: OpenCalls,
    private readonly logger: Logger,
  ) {}

  /** Asynchronous only if the rate is shared between nodes or the key limits concurrent requests. */
  admit(request: HttpRequest, response: ServerResponse): MaybePromise<AdmittedRequest> {
    const { caller } = request;
    if (caller === undefined) throw fault('missing_api_key');
    const work = this.lifecycle.start();
    try {
      stopOnDisconnect(response, work);
      if (caller.maxParallel !== null)
        return this.admitConcurrent(request, caller, work, caller.maxParallel, response);
      const verdict = this.rates.take(caller);
      if (verdict instanceof Promise) return this.admitLater(request, caller, work, verdict, response);
      return this.pass(request, caller, work, verdict, response);
    } catch (error) {
      this.lifecycle.end(work);
      throw error;
    }
  }

  private async admitLater(
    request: HttpRequest,
    caller: Caller,
    work: RequestWork,
    pendingVerdict: Promise<RateVerdict>,
    response: ServerResponse,
  ): Promise<AdmittedRequest> {
    try {
      return this.pass(request, caller, work, await pendingVerdict, response);
    } catch (error) {
      this.lifecycle.end(work);
      throw error;
    }
  }

  /** Takes the concurrency slot first: a request refused for lack of a slot has not started. */
  private async admitConcurrent(
    request: HttpRequest,
    caller: Caller,
    work: RequestWork,
    maxConcurrent: number,
    response: ServerResponse,
  ): Promise<AdmittedRequest> {
    try {
      const slot = await this.rates.enter(caller.keyId, maxConcurrent);
      const refusal = parallelRefusal(slot);
      if (refusal !== null) throw refusal;
      const leaveSlot = (): void => this.rates.leave(caller.keyId, slot);
      try {
        const admitted = this.pass(request, caller, work, await this.rates.take(caller), response);
        const leave = (): void => {
          leaveSlot();
          admitted.leave();
        };
        return { ...admitted, leave };
      } catch (error) {
        leaveSlot();
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
    work: RequestWork,
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
      if (work.callerLeft) this.logDisconnect(request, caller, work);
    };
    return { caller, work, leave };
  }

  private logDisconnect(
    { requestId, clientRequestId, url }: HttpRequest,
    { keyId }: Caller,
    { stoppedByCaller }: RequestWork,
  ): void {
    const callState = stoppedByCaller ? 'stopped' : 'carried out';
    this.logger.info('caller left', {
      request_id: requestId,
      client_request_id: clientRequestId ?? undefined,
      path: url,
      key_id: keyId,
      call: callState,
    });
  }
}

function stopOnDisconnect(response: ServerResponse, work: RequestWork): void {
  response.on('close', () => {
    if (!response.writableFinished) work.leave();
  });
}
