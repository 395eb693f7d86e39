import { Injectable } from '@nestjs/common';
import type { Nano } from '../../kernel';
import type { Caller } from '../../keys';
import type { DialectName } from '../../protocol';
import type { Delivery } from '../attempt';
import type { Call } from '../intake';
import { isConversation } from '../operations/operation';
import type { CallFacts } from '../reply/svc-headers';

/** A delivered answer, with everything needed to repeat its request. */
export interface ServedAnswer {
  readonly requestId: string;
  readonly caller: Caller;
  readonly surface: DialectName;
  readonly body: Readonly<Record<string, unknown>>;
  /** The caller asked for this model; the other name is the catalogue's for the model that answered. */
  readonly requestedModel: string;
  readonly model: string;
  readonly supplier: string;
  readonly region: string | null;
  readonly session: string | null;
  /** `auto` found the traffic of the organisation to be other than what was learned. */
  readonly isOfChangedTraffic: boolean;
  /** A whole body, or the events of a stream. */
  readonly stream: boolean;
  readonly answer: Buffer;
  readonly finishReason: string | null;
  readonly firstTokenMs: number | null;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly costNano: Nano;
  readonly latencyMs: number;
}

/** An answer after which the caller repeated the same request at once. */
export interface RetriedAnswer {
  readonly requestId: string;
  readonly caller: Caller;
  readonly model: string;
}

/** A receiver of samples. Its methods run in the request path: they neither wait nor throw. */
export interface AnswerSampler {
  wants(call: Call): boolean;
  take(served: ServedAnswer): void;
  retried(answer: RetriedAnswer): void;
}

/** A sample of a longer stream is given up. */
const MOST_BYTES = 1024 * 1024;

/** One answer in progress that will be sampled. */
export class AnswerSample {
  private readonly pieces: Buffer[] = [];
  private bytes = 0;

  constructor(
    private readonly sampler: AnswerSampler,
    private readonly call: Call,
    private readonly surface: DialectName,
  ) {}

  /** A piece of a stream that goes to the caller. */
  add(piece: Buffer | string): void {
    this.bytes += piece.length;
    if (this.bytes > MOST_BYTES) this.pieces.length = 0;
    else this.pieces.push(Buffer.from(piece));
  }

  served({ by, problem, status, ...delivery }: Delivery, facts: CallFacts, whole: Buffer | null): void {
    if (problem !== null || status !== 200) return;
    const isWhole = whole !== null;
    if ((isWhole ? whole.length : this.bytes) > MOST_BYTES) return;
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
      isOfChangedTraffic: this.call.auto?.isOfChangedTraffic ?? false,
      stream: !isWhole,
      answer: whole ?? Buffer.concat(this.pieces),
      finishReason: delivery.finishReason,
      firstTokenMs: delivery.firstTokenMs,
      inputTokens,
      outputTokens,
      costNano,
      latencyMs,
    });
  }
}

/** The hook for a module above the gateway that takes samples. Unused, it costs one comparison. */
@Injectable()
export class AnswerSampling {
  private sampler: AnswerSampler | null = null;

  use(sampler: AnswerSampler): void {
    this.sampler = sampler;
  }

  retried(answer: RetriedAnswer): void {
    this.sampler?.retried(answer);
  }

  /** It is null for nearly every request. */
  begin(call: Call): AnswerSample | null {
    const { sampler } = this;
    const { operation, choices } = call;
    if (sampler?.wants(call) !== true) return null;
    if (!isConversation(operation) || operation.name === 'native' || choices > 1) return null;
    return new AnswerSample(sampler, call, operation.dialect.name);
  }
}
