import { Injectable } from '@nestjs/common';
import { type Nano, parseUsd } from '../../kernel';
import type { Caller } from '../../keys';
import { operations } from '../operations/operation';
import { Pipeline } from '../pipeline';
import { InnerRequest, InnerResponse } from './inner-exchange';

/** The route of an answer is known when the supplier has answered. */
export interface InnerRoute {
  readonly supplier: string;
  readonly region: string | null;
  readonly failover: boolean;
}

/** The cost of an answer is known in the end. */
export interface InnerAccount {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly costNano: Nano;
  readonly latencyMs: number;
}

export interface InnerReader {
  route(route: InnerRoute): void;
  /**
   * The data are events of the chat dialect. It returns false while there is no room for more; `resume` tells
   * when there is.
   */
  data(chunk: Buffer): boolean;
}

export interface InnerCall {
  readonly caller: Caller;
  readonly requestId: string;
  /** It is written as it would be sent to `/v1/chat/completions`; it is always streamed. */
  readonly body: Readonly<Record<string, unknown>>;
  /** The conversation that it belongs to. */
  readonly session: string;
}

export interface InnerAnswer {
  /** Rejects with the caller's error; null when the answer broke off without a settlement. */
  readonly done: Promise<InnerAccount | null>;
  readonly resume: () => void;
  readonly stop: () => void;
}

const PATH = '/v1/chat/completions';

/** The chat route for other parts of this process: the same stages, limits and records, without a connection. */
@Injectable()
export class InnerChat {
  constructor(private readonly pipeline: Pipeline) {}

  start({ caller, requestId, body, session }: InnerCall, reader: InnerReader): InnerAnswer {
    const headers = { 'x-session-id': session };
    const request = new InnerRequest(PATH, requestId, caller, { ...body, stream: true }, headers);
    const response = new InnerResponse(request, {
      head: (answer) => reader.route(routeOf(answer)),
      data: (chunk) => reader.data(chunk),
    });
    const done = this.pipeline.run(operations.chat, request, response).then(() => accountOf(response));
    return { done, resume: () => response.resume(), stop: () => response.leave() };
  }
}

const UNSPECIFIED = 'unspecified';

function routeOf(response: InnerResponse): InnerRoute {
  const region = textOf(response, 'x-svc-region');
  return {
    supplier: textOf(response, 'x-svc-supplier'),
    region: region === UNSPECIFIED ? null : region,
    failover: textOf(response, 'x-svc-failover') === 'true',
  };
}

const textOf = (response: InnerResponse, name: string): string => String(response.getHeader(name) ?? '');

function accountOf({ settled }: InnerResponse): InnerAccount | null {
  const cost = settled['x-svc-cost-usd'];
  if (cost === undefined) return null;
  return {
    inputTokens: Number(settled['x-svc-input-tokens']),
    outputTokens: Number(settled['x-svc-output-tokens']),
    costNano: parseUsd(cost),
    latencyMs: Number(settled['x-svc-latency-ms']),
  };
}
