import { Injectable } from '@nestjs/common';
import type { Nano } from '../../kernel';
import type { Caller } from '../../keys';
import type { DialectName } from '../../protocol';
import type { Delivery } from '../attempt';
import type { GatewayCall } from '../intake';
import { isConversation } from '../operations/operation';
import type { CallSummary } from '../reply/svc-headers';

export interface ServedAnswer {
  readonly requestId: string;
  readonly caller: Caller;
  readonly surface: DialectName;
  readonly body: Readonly<Record<string, unknown>>;
  readonly requestedModel: string;
  readonly model: string;
  readonly supplier: string;
  readonly region: string | null;
  readonly session: string | null;
  readonly isOfChangedTraffic: boolean;
  readonly stream: boolean;
  readonly answer: Buffer;
  readonly finishReason: string | null;
  readonly firstTokenMs: number | null;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly costNano: Nano;
  readonly latencyMs: number;
}

/** A response after which the caller immediately repeated the same request. */
export interface RetriedAnswer {
  readonly requestId: string;
  readonly caller: Caller;
  readonly model: string;
}

/** Receives samples. Its methods run in the request path and must neither wait nor throw. */
export interface AnswerSampler {
  shouldSample(call: GatewayCall): boolean;
  take(served: ServedAnswer): void;
  retried(answer: RetriedAnswer): void;
}

/** Samples of longer responses are dropped. */
const MAX_SAMPLE_BYTES = 1024 * 1024;

export class AnswerSample {
  private readonly pieces: Buffer[] = [];
  private bytes = 0;

  constructor(
    private readonly sampler: AnswerSampler,
    private readonly call: GatewayCall,
    private readonly surface: DialectName,
  ) {}

  add(piece: Buffer | string): void {
    this.bytes += piece.length;
    if (this.bytes > MAX_SAMPLE_BYTES) this.pieces.length = 0;
    else this.pieces.push(Buffer.from(piece));
  }

  complete(
    { by, problem, status, ...delivery }: Delivery,
    facts: CallSummary,
    completeBody: Buffer | null,
  ): void {
    if (problem !== null || status !== 200) return;
    const isComplete = completeBody !== null;
    if ((isComplete ? completeBody.length : this.bytes) > MAX_SAMPLE_BYTES) return;
    const { requestId, caller, body } = this.call.inbound;
    const { supplier, region, inputTokens, outputTokens, costNano, latencyMs } = facts;
    this.sampler.take({
      requestId,
      caller,
      surface: this.surface,
      body,
      requestedModel: this.call.model,
      model: by.routed.model.name,
      supplier,
      region,
      session: this.call.session,
      isOfChangedTraffic: this.call.auto?.hasTrafficChanged ?? false,
      stream: !isComplete,
      answer: completeBody ?? Buffer.concat(this.pieces),
      finishReason: delivery.finishReason,
      firstTokenMs: delivery.firstTokenMs,
      inputTokens,
      outputTokens,
      costNano,
      latencyMs,
    });
  }
}

/** Hook for a module above the gateway that takes samples. Unused, it costs one comparison. */
@Injectable()
export class AnswerSampling {
  private sampler: AnswerSampler | null = null;

  register(sampler: AnswerSampler): void {
    this.sampler = sampler;
  }

  reportRetry(answer: RetriedAnswer): void {
    this.sampler?.retried(answer);
  }

  /** Null for nearly every request. */
  start(call: GatewayCall): AnswerSample | null {
    const { sampler } = this;
    const { operation, choices } = call;
    if (sampler?.shouldSample(call) !== true) return null;
    if (!isConversation(operation) || operation.name === 'native' || choices > 1) return null;
    return new AnswerSample(sampler, call, operation.dialect.name);
  }
}
