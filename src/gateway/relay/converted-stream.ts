import { type Fault, fault, monotonicMs, type Usage } from '../../kernel';
import type { CanonicalEvent, Dropped, EncoderOptions, StreamDecoder, StreamEncoder } from '../../protocol';
import { responseModelName } from '../admission';
import { type Delivery, failureOf, type LaneResponse, type LaneStream, markOf } from '../attempt';
import { textOperation } from '../operations/operation';
import { chargedUsage, estimateUsage, usageOfStream } from '../settle';
import { newResponseId, requestEcho } from './echo';
import { svcObject } from './svc-object';

function encoderOptions(
  answer: LaneResponse,
  textBytes: () => number,
  lossesOf: () => readonly Dropped[],
): EncoderOptions {
  const { call } = answer.routed;
  return {
    ...newResponseId(call.operation),
    echo: requestEcho(call),
    requestId: call.inbound.requestId,
    model: responseModelName(answer.routed) ?? undefined,
    lane: markOf(answer.route.lane.provider),
    includeUsage: call.includeUsage,
    inputTokens: call.inputEstimate,
    estimate: () => chargedUsage(estimateUsage(call, textBytes()), answer, answer.outbound),
    facts: (usage) => usage && svcObject(answer, usage, lossesOf()),
  };
}

export class ConvertedStream implements LaneStream {
  protected readonly encoder: StreamEncoder;
  private readonly decoder: StreamDecoder;
  /** Bytes that the model wrote, in total and up to the last usage report. */
  protected outputBytes = 0;
  private coveredBytes = 0;
  private firstOutputAt: number | null = null;
  private finishReason: string | null = null;
  private sawEvent = false;
  private isComplete = false;
  protected problem: Fault | null = null;
  protected readonly calls: string[] = [];
  /** Bytes that can be sent now; `last` waits for the settlement. */
  private ready = '';
  private delivery: Delivery | null = null;
  private last = '';

  constructor(
    private readonly answer: LaneResponse,
    options: Partial<EncoderOptions> = {},
  ) {
    const { outbound, routed } = answer;
    if (outbound.dialect === null) throw fault('internal_error');
    const encoding = {
      ...encoderOptions(
        answer,
        () => this.outputBytes,
        () => this.losses(),
      ),
      ...options,
    };
    this.encoder = textOperation(routed.call.operation).dialect.streamEncoder(encoding);
    const reply = outbound.translation?.reply ?? {};
    this.decoder = outbound.dialect.streamDecoder({ emit: (event) => this.receive(event), ...reply });
  }

  get useful(): boolean {
    return this.firstOutputAt !== null || this.finishReason !== null;
  }

  get ended(): boolean {
    return this.isComplete;
  }

  get failure(): Fault | null {
    return this.problem;
  }

  take(chunk: Buffer): string {
    this.decoder.push(chunk);
    const text = this.ready;
    this.ready = '';
    return text;
  }

  finish(broken: Fault | null): Delivery {
    this.delivery ??= this.deliver(broken);
    return this.delivery;
  }

  fail(problem: Fault): string {
    return this.ready + this.encoder.failInstead(problem);
  }

  private deliver(broken: Fault | null): Delivery {
    if (broken === null) this.decoder.end();
    const failure =
      this.isComplete && this.problem === null
        ? null
        : failureOf({ reported: this.problem, broken }, this.firstOutputAt !== null, this.sawEvent);
    const { answer } = this;
    const { call } = answer.routed;
    const problem = failure && answer.secrets.redactFault(failure);
    return {
      by: answer,
      status: answer.status,
      usage: this.countUsage(),
      finishReason: this.finishReason,
      calls: this.calls,
      firstTokenMs:
        this.firstOutputAt === null ? null : Math.round(this.firstOutputAt - call.inbound.startedMs),
      dropped: this.losses(),
      problem,
      body:
        this.ready + (problem === null ? this.last : this.encoder.encode({ type: 'fault', fault: problem })),
    };
  }

  private countUsage(): Usage {
    const { decoder, outputBytes, coveredBytes } = this;
    const { answer } = this;
    const usage = usageOfStream(decoder.usage, answer.routed, outputBytes, coveredBytes);
    return chargedUsage(usage, answer, answer.outbound);
  }

  private losses(): Dropped[] {
    return [...this.answer.dropped, ...this.decoder.dropped, ...this.encoder.dropped];
  }

  protected receive(event: CanonicalEvent): void {
    this.emit(event);
  }

  protected emit(event: CanonicalEvent): void {
    if (event.type === 'fault') {
      this.problem ??= event.fault;
      return;
    }
    this.sawEvent = true;
    if (event.type === 'message-start') this.answer.span?.recordNames(event.model, event.id);
    if (event.type === 'message-start' && event.model === '')
      return this.emit({ ...event, model: this.answer.route.lane.upstreamModel });
    if (event.type === 'message-end') {
      this.finishReason = event.finish.raw ?? event.finish.unified;
      this.encoder.encode({ type: 'usage-update', usage: this.countUsage() });
      this.last += this.encoder.encode(event);
      this.isComplete = true;
      return;
    }
    if ('text' in event) this.countOutput(event.text);
    else if (event.type === 'tool-start') {
      this.calls.push(event.id);
      this.countOutput(event.name);
    } else if ('usage' in event) this.coveredBytes = this.outputBytes;
    this.ready += this.encoder.encode(event);
    // The encoder's buffer is full, and it has written the error.
    if (this.encoder.ended) this.problem ??= fault('provider_response_too_large');
  }

  private countOutput(text: string): void {
    this.firstOutputAt ??= monotonicMs();
    this.outputBytes += Buffer.byteLength(text);
  }
}
