import { type CanonicalEvent, collect, dialects } from '../../protocol';

const MAX_REVIEWED_BYTES = 1024 * 1024;

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** JSON as the model wrote it. */
  readonly input: string;
}

export class ReviewedStream {
  private readonly pieces: Buffer[] = [];
  private size = 0;

  add(piece: Buffer | string): void {
    this.size += piece.length;
    if (this.size <= MAX_REVIEWED_BYTES) this.pieces.push(Buffer.from(piece));
    else this.pieces.length = 0;
  }

  /** Null if the stream is too long or cannot be read. */
  toolCalls(last: Buffer | string): readonly ToolCall[] | null {
    this.add(last);
    if (this.size > MAX_REVIEWED_BYTES) return null;
    const events: CanonicalEvent[] = [];
    const decoder = dialects.messages.streamDecoder({ emit: (event) => events.push(event) });
    for (const piece of this.pieces) decoder.push(piece);
    decoder.end();
    const answer = collect(events);
    if (!answer.ok) return null;
    return answer.value.blocks.flatMap((block) =>
      block.type === 'tool' ? [{ id: block.id, name: block.name, input: block.arguments }] : [],
    );
  }
}
