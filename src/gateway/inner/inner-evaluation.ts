import { Injectable } from '@nestjs/common';
import { fault, type Nano } from '../../kernel';
import type { Caller } from '../../keys';
import type { DialectName } from '../../protocol';
import { operations } from '../operations/operation';
import { Pipeline } from '../pipeline';
import { InnerRequest, InnerResponse } from './inner-exchange';

export interface EvaluationCall {
  readonly caller: Caller;
  readonly requestId: string;
  readonly surface: DialectName;
  /** Request body as sent to the route; never streamed, and never stored. */
  readonly body: Readonly<Record<string, unknown>>;
  readonly signal: AbortSignal;
}

export interface EvaluationResponse {
  readonly body: Buffer;
  readonly supplier: string;
  readonly region: string | null;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly costNano: Nano;
  readonly latencyMs: number;
}

const pathsByDialect: Readonly<Record<DialectName, string>> = {
  chat: '/v1/chat/completions',
  messages: '/v1/messages',
  responses: '/v1/responses',
};

/** Conversation routes for evaluations: same stages, limits and records, without a connection. */
@Injectable()
export class InnerEvaluation {
  constructor(private readonly pipeline: Pipeline) {}

  async evaluate({ caller, requestId, surface, body, signal }: EvaluationCall): Promise<EvaluationResponse> {
    signal.throwIfAborted();
    const { stream: _stream, stream_options: _options, ...fields } = body;
    const requestBody = surface === 'responses' ? { ...fields, store: false } : fields;
    const request = new InnerRequest(pathsByDialect[surface], requestId, caller, requestBody);
    const response = new InnerResponse(request, { head: () => undefined, data: () => true });
    const stop = (): void => response.leave();
    signal.addEventListener('abort', stop, { once: true });
    try {
      const reply = await this.pipeline.run(operations[surface], request, response);
      if (reply === null) throw fault('internal_error');
      const { supplier, region, inputTokens, outputTokens, costNano, latencyMs } = reply.facts;
      return { body: reply.body, supplier, region, inputTokens, outputTokens, costNano, latencyMs };
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }
}
