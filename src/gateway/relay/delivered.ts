import type { CanonicalEvent, Dialect } from '../../protocol';

/** The longest answer that can be continued on another lane: its delivered text must be buffered. */
const MOST_KEPT = 256 * 1024;

/** The delivered part of an answer, buffered while another lane could continue it. */
export class Delivered {
  private readonly pieces: (Buffer | string)[] = [];
  private size = 0;

  add(piece: Buffer | string): void {
    this.size += piece.length;
    if (this.size <= MOST_KEPT) this.pieces.push(piece);
    else this.pieces.length = 0;
  }

  /** The same as events; null when it was too much, or holds what cannot be compared. */
  events({ streamDecoder }: Dialect): CanonicalEvent[] | null {
    if (this.size > MOST_KEPT) return null;
    const events: CanonicalEvent[] = [];
    const decoder = streamDecoder({ emit: (event) => events.push(event) });
    for (const piece of this.pieces) decoder.push(typeof piece === 'string' ? Buffer.from(piece) : piece);
    const isWhole = decoder.dropped.length === 0 && events.every(isComparable);
    return isWhole ? events : null;
  }
}

/** Signatures and citations belong to one answer and cannot be compared. */
const isComparable = ({ type }: CanonicalEvent): boolean =>
  type !== 'reasoning-signature' && type !== 'citation' && type !== 'refusal' && type !== 'fault';
