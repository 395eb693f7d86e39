import type { CanonicalEvent } from '../../protocol';

type Piece = Extract<CanonicalEvent, { type: 'text-delta' | 'reasoning-delta' | 'tool-arguments-delta' }>;

interface Block {
  readonly kind: 'text' | 'reasoning' | 'tool';
  /** It is the name of the tool; empty for prose. */
  readonly name: string;
  text: string;
  closed: boolean;
  /** The second answer has repeated this much of it. */
  repeated: number;
}

/** An event of the second answer is a repetition, new text, or a difference. */
export type Compared = 'delivered' | 'differs' | CanonicalEvent;

/**
 * Compares a second answer with the delivered part of the first. Repeated text is swallowed, later text is new. Chunk
 * boundaries may differ, nothing else.
 */
export class Prefix {
  private readonly blocks: Block[] = [];
  private readonly tools: Block[] = [];
  private prose: Block | undefined;
  /** The second answer has begun so many blocks. */
  private begun = 0;
  private readonly begunTools: Block[] = [];

  constructor(delivered: readonly CanonicalEvent[]) {
    for (const event of delivered) this.collect(event);
    this.prose = undefined;
  }

  /** The bytes of text in it. */
  get textBytes(): number {
    return this.blocks.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
  }

  compare(event: CanonicalEvent): Compared {
    switch (event.type) {
      case 'message-start':
        return 'delivered';
      case 'text-start':
      case 'reasoning-start':
        return this.begin(event, event.type === 'text-start' ? 'text' : 'reasoning', '');
      case 'tool-start':
        return this.begin(event, 'tool', event.name);
      case 'text-delta':
      case 'reasoning-delta':
        return this.more(event, this.prose);
      case 'tool-arguments-delta':
        return this.more(event, this.begunTools[event.index]);
      case 'text-end':
      case 'reasoning-end':
        return this.close(event, this.prose);
      case 'tool-end':
        return this.close(event, this.begunTools[event.index]);
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
      this.begun >= this.blocks.length && this.blocks.every(({ text, repeated }) => repeated === text.length)
    );
  }

  private begin(event: CanonicalEvent, kind: Block['kind'], name: string): Compared {
    const block = this.blocks[this.begun];
    this.begun += 1;
    if (block === undefined) {
      const fresh: Block = { kind, name, text: '', closed: false, repeated: 0 };
      if (!this.isRepeated) return 'differs';
      this.remember(fresh, kind);
      return event;
    }
    if (block.kind !== kind || block.name !== name) return 'differs';
    this.remember(block, kind);
    return 'delivered';
  }

  private remember(block: Block, kind: Block['kind']): void {
    if (kind === 'tool') this.begunTools.push(block);
    else this.prose = block;
  }

  private more(event: Piece, block: Block | undefined): Compared {
    if (block === undefined) return 'differs';
    const left = block.text.slice(block.repeated);
    if (left.startsWith(event.text)) {
      block.repeated += event.text.length;
      return 'delivered';
    }
    if (!event.text.startsWith(left)) return 'differs';
    block.repeated = block.text.length;
    if (block.closed || !this.isRepeated) return 'differs';
    return { ...event, text: event.text.slice(left.length) };
  }

  private close(event: CanonicalEvent, block: Block | undefined): Compared {
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

  private add(kind: Block['kind'], name: string): Block {
    const block: Block = { kind, name, text: '', closed: false, repeated: 0 };
    this.blocks.push(block);
    return block;
  }
}
