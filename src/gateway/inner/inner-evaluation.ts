import { Injectable } from '@nestjs/common';
import { fault, type Nano } from '../../kernel';
import type { Caller } from '../../keys';
import type { DialectName } from '../../protocol';
import { operations } from '../operations/operation';
import { Pipeline } from '../pipeline';
import { InnerRequest, InnerResponse } from './inner-exchange';

/** A request whose answer is evaluated. */
export interface EvaluationCall {
  /** Made by `evaluationCaller`, or the caller of an answer whose tool calls are reviewed. */
  readonly caller: Caller;
  readonly requestId: string;
  readonly surface: DialectName;
  /** It is written as it would be sent to the route; it is never streamed, and never kept for later requests. */
  readonly body: Readonly<Record<string, unknown>>;
  readonly signal: AbortSignal;
}

export interface EvaluationAnswer {
  readonly body: Buffer;
  readonly supplier: string;
  readonly region: string | null;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly costNano: Nano;
  readonly latencyMs: number;
}

const paths: Readonly<Record<DialectName, string>> = {
  chat: '/v1/chat/completions',
  messages: '/v1/messages',
  responses: '/v1/responses',
};

/** The routes of conversations for evaluation: the same stages, limits and records, without a connection. */
@Injectable()
export class InnerEvaluation {
  constructor(private readonly pipeline: Pipeline) {}

  async ask({ caller, requestId, surface, body, signal }: EvaluationCall): Promise<EvaluationAnswer> {
    signal.throwIfAborted();
    const { stream: _stream, stream_options: _options, ...asked } = body;
    const whole = surface === 'responses' ? { ...asked, store: false } : asked;
    const request = new InnerRequest(paths[surface], requestId, caller, whole);
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
