import { type Fault, fault, monotonicMs } from '../../../kernel';
import type { CanonicalEvent, EncoderOptions, StreamDecoder, StreamEncoder } from '../../../protocol';
import { answerId } from '../../responses/answer-id';
import type { AnswerContext } from '../answer-context';
import { estimateUsage, usageOfStream } from '../delivery';
import { inBand, type LaneStream, type StreamDelivery } from './lane-stream';

const encoderOptions = (
  { inbound, call, surface, facts }: AnswerContext,
  textBytes: () => number,
): EncoderOptions => ({
  ...answerId(surface),
  requestId: inbound.requestId,
  model: call.model,
  includeUsage: call.includeUsage,
  inputTokens: call.inputEstimate,
  estimate: () => estimateUsage(call, textBytes()),
  facts: (usage) => usage && facts(usage),
});

/** The sides speak different dialects: bytes become events, and events the caller's kind of bytes, at once. */
export class TranslatedStream implements LaneStream {
  failure: Fault | null = null;
  protected readonly encoder: StreamEncoder;
  private readonly decoder: StreamDecoder;
  protected textBytes = 0;
  private firstTextAt: number | null = null;
  private finishReason: string | null = null;
  private whole = false;
  /** What can go on now, and what waits until the account is on record. */
  private ready = '';
  private last = '';

  constructor(
    protected readonly context: AnswerContext,
    options: Partial<EncoderOptions> = {},
  ) {
    const { surface, outbound } = context;
    if (outbound.dialect === null) throw fault('internal_error');
    const encoding = { ...encoderOptions(context, () => this.textBytes), ...options };
    this.encoder = surface.dialect.streamEncoder(encoding);
    const reply = outbound.translation?.reply ?? {};
    this.decoder = outbound.dialect.streamDecoder({ emit: (event) => this.receive(event), ...reply });
  }

  get useful(): boolean {
    return this.firstTextAt !== null || this.finishReason !== null;
  }

  take(chunk: Buffer): string {
    this.decoder.push(chunk);
    const text = this.ready;
    this.ready = '';
    return text;
  }

  finish(broken: Fault | null): StreamDelivery {
    if (broken === null) this.decoder.end();
    const problem = this.failure ?? (this.whole ? null : (broken ?? fault('stream_interrupted')));
    const { inbound, call, contextTokens, outbound } = this.context;
    return {
      usage: usageOfStream(this.decoder.usage, call, contextTokens, this.textBytes),
      finishReason: this.finishReason,
      firstTokenMs: this.firstTextAt === null ? null : Math.round(this.firstTextAt - inbound.startedMs),
      dropped: [...(outbound.translation?.dropped ?? []), ...this.decoder.dropped, ...this.encoder.dropped],
      problem,
      last: this.ready + (problem === null ? this.last : this.told(problem)),
    };
  }

  /** What the supplier's stream says, in order. */
  protected receive(event: CanonicalEvent): void {
    this.emit(event);
  }

  protected emit(event: CanonicalEvent): void {
    if (event.type === 'fault') {
      this.failure ??= event.fault;
      return;
    }
    if (event.type === 'message-end') {
      this.finishReason = event.finish.raw ?? event.finish.unified;
      this.last += this.encoder.encode(event);
      this.whole = true;
      return;
    }
    if ('text' in event) {
      this.firstTextAt ??= monotonicMs();
      this.textBytes += Buffer.byteLength(event.text);
    }
    this.ready += this.encoder.encode(event);
    // More waits for its turn than may; the encoder has told the caller.
    if (this.encoder.ended) this.failure ??= fault('provider_response_too_large');
  }

  private told(problem: Fault): string {
    const { surface, inbound } = this.context;
    return this.encoder.ended ? '' : inBand(surface, problem, inbound.requestId);
  }
}
