import type { CanonicalEvent, Dialect } from '../../protocol';

/** Maximum size of a response that can be continued on another lane, as its delivered text is buffered. */
const MAX_BUFFERED_BYTES = 256 * 1024;

export class DeliveredText {
  private readonly pieces: (Buffer | string)[] = [];
  private size = 0;

  add(piece: Buffer | string): void {
    this.size += piece.length;
    if (this.size <= MAX_BUFFERED_BYTES) this.pieces.push(piece);
    else this.pieces.length = 0;
  }

  /** The delivered part as events; null if it was too large, or has events that cannot be compared. */
  events({ streamDecoder }: Dialect): CanonicalEvent[] | null {
    if (this.size > MAX_BUFFERED_BYTES) return null;
    const events: CanonicalEvent[] = [];
    const decoder = streamDecoder({ emit: (event) => events.push(event) });
    for (const piece of this.pieces) decoder.push(typeof piece === 'string' ? Buffer.from(piece) : piece);
    const canBeCompared = decoder.dropped.length === 0 && events.every(isComparable);
    return canBeCompared ? events : null;
  }
}

/**
 * Events that another lane would not reproduce. A response with one of them cannot be matched against its continuation.
 */
const isComparable = ({ type }: CanonicalEvent): boolean =>
  type !== 'reasoning-signature' && type !== 'citation' && type !== 'refusal' && type !== 'fault';
