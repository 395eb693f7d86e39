import {
  type Fault,
  fault,
  readJsonText,
  SseScanner,
  type UsageReading,
  type WrittenFields,
} from '../kernel';
import {
  type DecoderOptions,
  type Dropped,
  Emission,
  parseJsonText,
  type StreamDecoder,
  Tally,
} from './canonical';
import { isRecord } from './usage';

export const brokenStream = (message: string): Fault => fault('agentcli_incomplete_stream', { message });

/**
 * Shared by the three stream decoders: bytes become events of the dialect, one JSON object each. A stream that breaks
 * or is malformed ends in a fault, never in an answer that looks complete.
 */
export abstract class StreamReader implements StreamDecoder {
  terminated = false;
  protected readonly emission: Emission;
  protected readonly tally = new Tally();
  private readonly scanner: SseScanner;
  private sawEvent = false;
  private succeeded = false;

  constructor({ maxEventBytes, ...options }: DecoderOptions) {
    this.emission = new Emission(options);
    this.scanner = new SseScanner({
      maxEventBytes,
      onText: (text, complete) => {
        if (!this.emission.ended) this.readData(text, complete);
      },
    });
  }

  push(chunk: Uint8Array): void {
    if (this.emission.ended) return;
    const tooLarge = this.scanner.push(chunk);
    if (tooLarge) this.emission.fault(tooLarge);
  }

  end(): void {
    this.scanner.end();
    if (this.emission.ended) return;
    if (!this.sawEvent) this.emission.fault(fault('empty_response'));
    else if (!this.endWithoutTerminator()) {
      this.emission.fault(brokenStream('The stream of the supplier ended before its answer was complete.'));
    }
  }

  get complete(): boolean {
    return this.succeeded;
  }

  get usage(): UsageReading {
    return this.emission.usage;
  }

  get dropped(): readonly Dropped[] {
    return this.tally.list();
  }

  /** These texts are kept as they were written, in the events that may hold them. */
  protected readonly written: WrittenFields = {};
  protected holdsWritten(_event: Record<string, unknown>): boolean {
    return false;
  }

  /** It reads one event of the dialect. */
  protected abstract readEvent(event: Record<string, unknown>): void;

  /** Text that is not JSON but means the end. */
  protected readTerminator(_text: string): boolean {
    return false;
  }

  /** The answer is complete all the same where this returns true, having ended it. */
  protected endWithoutTerminator(): boolean {
    return false;
  }

  protected succeed(...end: Parameters<Emission['end']>): void {
    this.emission.end(...end);
    this.succeeded = true;
  }

  private readData(data: string, complete: boolean): void {
    const text = data.trim();
    if (text === '') return;
    this.sawEvent = true;
    if (this.readTerminator(text)) return;
    const event = parseJsonText(text);
    if (isRecord(event)) this.readEvent(this.holdsWritten(event) ? this.asWritten(text) : event);
    // A part that the stream broke off in is no event; `end` says what that means.
    else if (complete) this.emission.fault(fault('non_json_provider_response'));
  }

  private asWritten(text: string): Record<string, unknown> {
    return readJsonText(text, this.written) as Record<string, unknown>;
  }
}
