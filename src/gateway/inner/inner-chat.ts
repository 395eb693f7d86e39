import { Injectable } from '@nestjs/common';
import { type Nano, parseUsd } from '../../kernel';
import type { Caller } from '../../keys';
import { operations } from '../operations/operation';
import { Pipeline } from '../pipeline';
import { InnerRequest, InnerResponse } from './inner-exchange';

export interface InnerRoute {
  readonly supplier: string;
  readonly region: string | null;
  readonly failover: boolean;
}

export interface InnerCharge {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly costNano: Nano;
  readonly latencyMs: number;
}

export interface InnerReader {
  route(route: InnerRoute): void;
  data(chunk: Buffer): boolean;
}

export interface InnerCall {
  readonly caller: Caller;
  readonly requestId: string;
  /** Request body as for `/v1/chat/completions`; always streamed. */
  readonly body: Readonly<Record<string, unknown>>;
  readonly session: string;
}

export interface InnerExchange {
  readonly done: Promise<InnerCharge | null>;
  readonly resume: () => void;
  readonly stop: () => void;
}

const PATH = '/v1/chat/completions';

/** Chat route for other parts of this process: same stages, limits and records, without a connection. */
@Injectable()
export class InnerChat {
  constructor(private readonly pipeline: Pipeline) {}

  start({ caller, requestId, body, session }: InnerCall, reader: InnerReader): InnerExchange {
    const headers = { 'x-session-id': session };
    const request = new InnerRequest(PATH, requestId, caller, { ...body, stream: true }, headers);
    const response = new InnerResponse(request, {
      head: (answer) => reader.route(routeOf(answer)),
      data: (chunk) => reader.data(chunk),
    });
    const done = this.pipeline.run(operations.chat, request, response).then(() => chargeOf(response));
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

function chargeOf({ settled }: InnerResponse): InnerCharge | null {
  const cost = settled['x-svc-cost-usd'];
  if (cost === undefined) return null;
  return {
    inputTokens: Number(settled['x-svc-input-tokens']),
    outputTokens: Number(settled['x-svc-output-tokens']),
    costNano: parseUsd(cost),
    latencyMs: Number(settled['x-svc-latency-ms']),
  };
}
