import type { CanonicalEvent } from '../../protocol';

type DeltaEvent = Extract<
  CanonicalEvent,
  { type: 'text-delta' | 'reasoning-delta' | 'tool-arguments-delta' }
>;

interface PrefixBlock {
  readonly kind: 'text' | 'reasoning' | 'tool';
  /** Name of the tool; empty for prose. */
  readonly name: string;
  text: string;
  closed: boolean;
  repeated: number;
}

export type ComparedEvent = 'delivered' | 'differs' | CanonicalEvent;

/**
 * Compares a second response with the delivered part of the first. Drops repeated text and passes new text; only chunk
 * boundaries are allowed to differ.
 */
export class DeliveredPrefix {
  private readonly blocks: PrefixBlock[] = [];
  private readonly tools: PrefixBlock[] = [];
  private prose: PrefixBlock | undefined;
  private startedBlocks = 0;
  private readonly startedTools: PrefixBlock[] = [];

  constructor(delivered: readonly CanonicalEvent[]) {
    for (const event of delivered) this.collect(event);
    this.prose = undefined;
  }

  get textBytes(): number {
    return this.blocks.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
  }

  compare(event: CanonicalEvent): ComparedEvent {
    switch (event.type) {
      case 'message-start':
        return 'delivered';
      case 'text-start':
      case 'reasoning-start':
        return this.startBlock(event, event.type === 'text-start' ? 'text' : 'reasoning', '');
      case 'tool-start':
        return this.startBlock(event, 'tool', event.name);
      case 'text-delta':
      case 'reasoning-delta':
        return this.appendDelta(event, this.prose);
      case 'tool-arguments-delta':
        return this.appendDelta(event, this.startedTools[event.index]);
      case 'text-end':
      case 'reasoning-end':
        return this.close(event, this.prose);
      case 'tool-end':
        return this.close(event, this.startedTools[event.index]);
      case 'usage-update':
      case 'fault':
        return event;
      case 'refusal':
      case 'citation':
      case 'reasoning-signature':
      case 'message-end':
        return this.isRepeated ? event : 'differs';
    }
  }

  private get isRepeated(): boolean {
    return (
      this.startedBlocks >= this.blocks.length &&
      this.blocks.every(({ text, repeated }) => repeated === text.length)
    );
  }

  private startBlock(event: CanonicalEvent, kind: PrefixBlock['kind'], name: string): ComparedEvent {
    const block = this.blocks[this.startedBlocks];
    this.startedBlocks += 1;
    if (block === undefined) {
      const newBlock: PrefixBlock = { kind, name, text: '', closed: false, repeated: 0 };
      if (!this.isRepeated) return 'differs';
      this.remember(newBlock, kind);
      return event;
    }
    if (block.kind !== kind || block.name !== name) return 'differs';
    this.remember(block, kind);
    return 'delivered';
  }

  private remember(block: PrefixBlock, kind: PrefixBlock['kind']): void {
    if (kind === 'tool') this.startedTools.push(block);
    else this.prose = block;
  }

  private appendDelta(event: DeltaEvent, block: PrefixBlock | undefined): ComparedEvent {
    if (block === undefined) return 'differs';
    const remainder = block.text.slice(block.repeated);
    if (remainder.startsWith(event.text)) {
      block.repeated += event.text.length;
      return 'delivered';
    }
    if (!event.text.startsWith(remainder)) return 'differs';
    block.repeated = block.text.length;
    if (block.closed || !this.isRepeated) return 'differs';
    return { ...event, text: event.text.slice(remainder.length) };
  }

  private close(event: CanonicalEvent, block: PrefixBlock | undefined): ComparedEvent {
    if (block === undefined || block.repeated !== block.text.length) return 'differs';
    if (block.closed) return 'delivered';
    block.closed = true;
    return event;
  }

  private collect(event: CanonicalEvent): void {
    switch (event.type) {
      case 'text-start':
      case 'reasoning-start':
        this.prose = this.add(event.type === 'text-start' ? 'text' : 'reasoning', '');
        break;
      case 'tool-start':
        this.tools.push(this.add('tool', event.name));
        break;
      case 'text-delta':
      case 'reasoning-delta':
        if (this.prose) this.prose.text += event.text;
        break;
      case 'tool-arguments-delta':
        this.tools[event.index]!.text += event.text;
        break;
      case 'text-end':
      case 'reasoning-end':
        if (this.prose) this.prose.closed = true;
        break;
      case 'tool-end':
        this.tools[event.index]!.closed = true;
        break;
      case 'message-start':
      case 'usage-update':
      case 'refusal':
      case 'citation':
      case 'reasoning-signature':
      case 'message-end':
      case 'fault':
        break;
    }
  }

  private add(kind: PrefixBlock['kind'], name: string): PrefixBlock {
    const block: PrefixBlock = { kind, name, text: '', closed: false, repeated: 0 };
    this.blocks.push(block);
    return block;
  }
}
