import { fault } from '../../kernel';
import type { CanonicalEvent } from '../../protocol';
import type { LaneResponse } from '../attempt';
import { DeliveredPrefix } from './prefix';
import { ConvertedStream } from './converted-stream';

/**
 * Continues a broken response on another lane under the same model name. Only undelivered text is forwarded, and only
 * if the new response starts with exactly the delivered text.
 */
export class SplicedStream extends ConvertedStream {
  private readonly prefix: DeliveredPrefix;

  constructor(answer: LaneResponse, delivered: readonly CanonicalEvent[]) {
    const start = delivered.find((event) => event.type === 'message-start');
    // The response head named another lane.
    super(answer, { ...(start && { id: start.id, model: start.model }), alwaysSendsSvc: true });
    for (const event of delivered) {
      this.encoder.encode(event);
      // The caller already has these ids.
      if (event.type === 'tool-start') this.calls.push(event.id);
    }
    this.prefix = new DeliveredPrefix(delivered);
    this.outputBytes = this.prefix.textBytes;
  }

  protected override receive(event: CanonicalEvent): void {
    if (this.problem !== null) return;
    const compared = this.prefix.compare(event);
    if (compared === 'differs') this.problem = fault('stream_interrupted');
    else if (compared !== 'delivered') this.emit(compared);
  }
}
