import { fault } from '../../kernel';
import type { CanonicalEvent } from '../../protocol';
import type { LaneAnswer } from '../attempt';
import { Prefix } from './prefix';
import { TranslatedStream } from './translated-stream';

/**
 * Continues an answer that broke off on another lane. Only undelivered text is forwarded, and only if the new answer
 * begins with exactly the delivered text; the caller sees one answer under one name.
 */
export class SplicedStream extends TranslatedStream {
  private readonly prefix: Prefix;

  constructor(answer: LaneAnswer, delivered: readonly CanonicalEvent[]) {
    const start = delivered.find((event) => event.type === 'message-start');
    // Its head has named another lane.
    super(answer, { ...(start && { id: start.id, model: start.model }), tellsFacts: true });
    for (const event of delivered) {
      this.encoder.encode(event);
      // The caller has these ids already.
      if (event.type === 'tool-start') this.calls.push(event.id);
    }
    this.prefix = new Prefix(delivered);
    this.outputBytes = this.prefix.textBytes;
  }

  protected override receive(event: CanonicalEvent): void {
    if (this.problem !== null) return;
    const compared = this.prefix.compare(event);
    if (compared === 'differs') this.problem = fault('stream_interrupted');
    else if (compared !== 'delivered') this.emit(compared);
  }
}
