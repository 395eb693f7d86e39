export interface OutgoingBlock {
  readonly start: string;
  readonly pieceHead: string;
  /** Everything that precedes a piece; set when the block is opened. */
  prefix: string;
  pendingDeltas: string[];
  closed: boolean;
}

export const createBlock = (start: object, pieceHead: string): OutgoingBlock => ({
  start: JSON.stringify(start),
  pieceHead,
  prefix: '',
  pendingDeltas: [],
  closed: false,
});

const deltaEvent = 'event: content_block_delta\ndata: {"type":"content_block_delta","index":';

/**
 * Serialises blocks, as this dialect allows one open block at a time, numbered from 0. Blocks that start meanwhile are
 * held until the current one ends.
 */
export class BlockQueue {
  heldCharacters = 0;
  private current: OutgoingBlock | undefined;
  private readonly waiting: OutgoingBlock[] = [];
  private index = 0;

  open(block: OutgoingBlock): string {
    if (!this.current) return this.startBlock(block);
    this.waiting.push(block);
    return '';
  }

  /** `json` is the piece, and completes `pieceHead`. */
  piece(block: OutgoingBlock, json: string): string {
    if (block === this.current) return `${block.prefix}${json}}}\n\n`;
    return this.defer(block, `${block.pieceHead}${json}}`);
  }

  sign(block: OutgoingBlock, json: string): string {
    const delta = `{"type":"signature_delta","signature":${json}}`;
    return block === this.current
      ? `${deltaEvent}${this.index},"delta":${delta}}\n\n`
      : this.defer(block, delta);
  }

  close(block: OutgoingBlock): string {
    block.closed = true;
    if (block !== this.current) return '';
    let text = this.stopBlock();
    for (let next = this.waiting.shift(); next; next = this.waiting.shift()) {
      text += this.startBlock(next);
      if (!next.closed) break;
      text += this.stopBlock();
    }
    return text;
  }

  private defer(block: OutgoingBlock, delta: string): string {
    block.pendingDeltas.push(delta);
    this.heldCharacters += delta.length;
    return '';
  }

  private startBlock(block: OutgoingBlock): string {
    this.current = block;
    block.prefix = `${deltaEvent}${this.index},"delta":${block.pieceHead}`;
    let text = `event: content_block_start\ndata: {"type":"content_block_start","index":${this.index},"content_block":${block.start}}\n\n`;
    for (const delta of block.pendingDeltas) {
      this.heldCharacters -= delta.length;
      text += `${deltaEvent}${this.index},"delta":${delta}}\n\n`;
    }
    block.pendingDeltas = [];
    return text;
  }

  private stopBlock(): string {
    this.current = undefined;
    const { index } = this;
    this.index += 1;
    return `event: content_block_stop\ndata: {"type":"content_block_stop","index":${index}}\n\n`;
  }
}
