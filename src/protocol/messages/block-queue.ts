/** It is one content block on its way out. */
export interface OutgoingBlock {
  /** It is JSON of the block as it starts. */
  readonly start: string;
  /** This text precedes each piece within its delta. */
  readonly pieceHead: string;
  /** All that precedes a piece, known once the block is open. */
  prefix: string;
  /** These deltas wait for the block's turn. */
  held: string[];
  closed: boolean;
}

export const outgoing = (start: object, pieceHead: string): OutgoingBlock => ({
  start: JSON.stringify(start),
  pieceHead,
  prefix: '',
  held: [],
  closed: false,
});

const deltaEvent = 'event: content_block_delta\ndata: {"type":"content_block_delta","index":';

/**
 * This dialect has one open block at a time, counted from 0. The first block that is open flows through; blocks
 * that begin meanwhile wait until it is over.
 */
export class BlockQueue {
  /** So many characters wait. */
  held = 0;
  private live: OutgoingBlock | undefined;
  private readonly waiting: OutgoingBlock[] = [];
  private index = 0;

  open(block: OutgoingBlock): string {
    if (!this.live) return this.enter(block);
    this.waiting.push(block);
    return '';
  }

  /** `json` is the piece, and completes what `pieceHead` began. */
  piece(block: OutgoingBlock, json: string): string {
    if (block === this.live) return `${block.prefix}${json}}}\n\n`;
    return this.hold(block, `${block.pieceHead}${json}}`);
  }

  sign(block: OutgoingBlock, json: string): string {
    const delta = `{"type":"signature_delta","signature":${json}}`;
    return block === this.live ? `${deltaEvent}${this.index},"delta":${delta}}\n\n` : this.hold(block, delta);
  }

  close(block: OutgoingBlock): string {
    block.closed = true;
    if (block !== this.live) return '';
    let text = this.leave();
    for (let next = this.waiting.shift(); next; next = this.waiting.shift()) {
      text += this.enter(next);
      if (!next.closed) break;
      text += this.leave();
    }
    return text;
  }

  private hold(block: OutgoingBlock, delta: string): string {
    block.held.push(delta);
    this.held += delta.length;
    return '';
  }

  private enter(block: OutgoingBlock): string {
    this.live = block;
    block.prefix = `${deltaEvent}${this.index},"delta":${block.pieceHead}`;
    let text = `event: content_block_start\ndata: {"type":"content_block_start","index":${this.index},"content_block":${block.start}}\n\n`;
    for (const delta of block.held) {
      this.held -= delta.length;
      text += `${deltaEvent}${this.index},"delta":${delta}}\n\n`;
    }
    block.held = [];
    return text;
  }

  private leave(): string {
    this.live = undefined;
    const { index } = this;
    this.index += 1;
    return `event: content_block_stop\ndata: {"type":"content_block_stop","index":${index}}\n\n`;
  }
}
