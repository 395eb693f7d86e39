import {
  type Fault,
  fault,
  readJsonText,
  SseScanner,
  type UsageReading,
  type VerbatimFields,
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
 * Base of the stream decoders: turns bytes into events of the dialect, one JSON object each. A broken or malformed
 * stream ends in a fault, never in a seemingly complete response.
 */
export abstract class StreamReader implements StreamDecoder {
  terminated = false;
  protected readonly emission: Emission;
  protected readonly tally = new Tally();
  private readonly scanner: SseScanner;
  private hasEvent = false;
  private isComplete = false;

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
    if (!this.hasEvent) this.emission.fault(fault('empty_response'));
    else if (!this.endWithoutTerminator()) {
      this.emission.fault(brokenStream('The stream of the supplier ended before its answer was complete.'));
    }
  }

  get complete(): boolean {
    return this.isComplete;
  }

  get usage(): UsageReading {
    return this.emission.usage;
  }

  get dropped(): readonly Dropped[] {
    return this.tally.list();
  }

  /** Fields whose text is kept as written, in events for which `holdsWritten` is true. */
  protected readonly written: VerbatimFields = {};
  protected holdsWritten(_event: Record<string, unknown>): boolean {
    return false;
  }

  protected abstract readEvent(event: Record<string, unknown>): void;

  /** Whether text that is not JSON marks the end. */
  protected readTerminator(_text: string): boolean {
    return false;
  }

  protected endWithoutTerminator(): boolean {
    return false;
  }

  protected succeed(...end: Parameters<Emission['end']>): void {
    this.emission.end(...end);
    this.isComplete = true;
  }

  private readData(data: string, complete: boolean): void {
    const text = data.trim();
    if (text === '') return;
    this.hasEvent = true;
    if (this.readTerminator(text)) return;
    const event = parseJsonText(text);
    if (isRecord(event)) this.readEvent(this.holdsWritten(event) ? this.parseAsWritten(text) : event);
    // A truncated part of the stream is no event; `end` handles it.
    else if (complete) this.emission.fault(fault('non_json_provider_response'));
  }

  private parseAsWritten(text: string): Record<string, unknown> {
    return readJsonText(text, this.written) as Record<string, unknown>;
  }
}
