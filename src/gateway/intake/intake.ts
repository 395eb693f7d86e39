import type { ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import type { Caller } from '../../keys';
import { Settings } from '../../platform';
import { type HttpRequest, Idempotency } from '../../web';
import type { Operation } from '../operations/operation';
import type { Reply } from '../reply/reply';
import { Gates } from '../gates/gate-hooks';
import { CallGates } from './call-gates';
import { type Call, describeCall } from './describe';
import { type Inbound, inboundOf } from './inbound';
import { KeptAnswers } from './kept-answers';
import { replayOr } from './replay';
import { type AdmittedRequest, RequestGate } from './request-gate';
import type { Work } from './work';

/** Intake leads from a connection to a request that is understood. Each step waits only where it has to. */
@Injectable()
export class Intake {
  constructor(
    private readonly settings: Settings,
    private readonly gate: RequestGate,
    private readonly kept: KeptAnswers,
    private readonly idempotency: Idempotency,
    private readonly gates: Gates,
    private readonly callGates: CallGates,
  ) {}

  /** The key, its rate, and a place among the open requests. */
  enter(http: HttpRequest, response: ServerResponse): AdmittedRequest | Promise<AdmittedRequest> {
    return this.gate.admit(http, response);
  }

  /** The bytes, kept as they came, and what they say. */
  receive(http: HttpRequest, caller: Caller): Inbound | Promise<Inbound> {
    return inboundOf(http, caller, this.settings);
  }

  /** The call has earlier answers in place of references to them. */
  describe(received: Inbound, operation: Operation): Call | Promise<Call> {
    const expanding = operation.keepsAnswers === true ? this.kept.expand(received) : received;
    return expanding instanceof Promise
      ? expanding.then((inbound) => describeCall(inbound, operation, this.gates.trace()))
      : describeCall(expanding, operation, this.gates.trace());
  }

  /** What gates of extensions let through, with their texts in place of the caller's. */
  pass(call: Call): Call | Promise<Call> {
    return this.callGates.pass(call);
  }

  /** A repeated request with the same `idempotency-key` gets the answer of the first. */
  once<T extends Reply | null>(
    received: Inbound,
    asked: { readonly call: Call; readonly work: Work },
    execute: () => Promise<T>,
  ): Promise<Reply | T> {
    return replayOr(this.idempotency, received, asked, execute);
  }
}
