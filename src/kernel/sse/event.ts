/** Event of a stream. Its buffers are views: treat them as read-only. */
export class SseEvent {
  event?: string;
  id?: string;
  retry?: number;

  constructor(
    /** The value of the `data` lines, joined by line feeds; null when the block had none. */
    readonly data: Buffer | null,
    /** Every byte of the block, its closing blank line included. */
    readonly raw: Buffer,
    /** Offset of `raw` in the stream. */
    readonly offset: number,
    /** False if the stream ended before the blank line that closes an event. */
    readonly complete: boolean,
  ) {}

  /** Data as text, decoded on access. */
  get text(): string {
    return this.data === null ? '' : this.data.toString('utf8');
  }
}
