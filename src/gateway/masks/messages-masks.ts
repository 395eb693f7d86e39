import { isRecord, type JsonObject } from '../../protocol';
import { EventMasks, type EventAction, type OpenText } from './event-masks';
import { isJsonName, isTextName, maskValue, maskMembers } from './mask-values';

/** A longer thinking block is left out. */
const MAX_HELD_BYTES = 16 * 1024 * 1024;

interface HeldBlock {
  readonly events: string[];
  size: number;
  thinking: string;
}

/** Masks Messages. Holds thinking back until its block ends, as a block with a match is left out. */
export class MessagesMasks extends EventMasks {
  private readonly blocks = new Map<unknown, Map<string, OpenText>>();
  private readonly held = new Map<unknown, HeldBlock>();
  /** Number of blocks left out, by which later indexes shift. */
  private omittedBlocks = 0;

  read(event: JsonObject, written: (isChanged: boolean) => string): EventAction {
    const { type, index, content_block: block, delta } = event;
    const { changes } = this.masks;
    const isShifted = this.omittedBlocks > 0 && typeof index === 'number';
    this.startEvent();
    if (isShifted) {
      event.index = index - this.omittedBlocks;
      this.hasChangedPiece = true;
      this.pieceCount = 1;
    }
    const print = (): string => written(isShifted);
    if (type === 'content_block_start' && isRecord(block)) {
      if (this.startBlock(event, block, print)) return 'held';
    } else if (type === 'content_block_delta' && isRecord(delta)) {
      if (this.maskDelta(event, delta, print)) return 'held';
    } else if (type === 'content_block_stop') {
      if (this.stopBlock(event, print)) return 'held';
    } else if (type === 'message_start' || type === 'error') maskMembers(this.masks, event);
    return this.hasChangedPiece || this.masks.changes > changes ? 'changed' : 'same';
  }

  end(): void {
    for (const texts of this.blocks.values()) this.flush(texts);
  }

  /** Returns true if the event is held back. */
  private startBlock(event: JsonObject, block: JsonObject, print: () => string): boolean {
    const blockIndex = event.index;
    if (block.type === 'thinking') {
      this.held.set(blockIndex, { events: [print()], size: 0, thinking: textOf(block.thinking) });
      return true;
    }
    this.blocks.set(blockIndex, new Map());
    for (const name of Object.keys(block)) {
      const value = block[name];
      if (name === 'text' && typeof value === 'string')
        block.text = this.maskBlockPiece(blockIndex, name, 'text_delta', value);
      else block[name] = maskValue(this.masks, value, name);
    }
    return false;
  }

  private maskDelta(event: JsonObject, delta: JsonObject, print: () => string): boolean {
    const held = this.held.get(event.index);
    if (held !== undefined) {
      held.thinking += textOf(delta.thinking);
      const eventText = print();
      held.size += eventText.length;
      if (held.size <= MAX_HELD_BYTES) held.events.push(eventText);
      return true;
    }
    for (const name of Object.keys(delta)) {
      const value = delta[name];
      if (typeof value === 'string' && isTextName(name))
        delta[name] = this.maskBlockPiece(event.index, name, delta.type, value);
      else delta[name] = maskValue(this.masks, value, name);
    }
    return false;
  }

  private stopBlock(event: JsonObject, print: () => string): boolean {
    const held = this.held.get(event.index);
    if (held !== undefined) {
      this.held.delete(event.index);
      const { hits } = this.masks;
      this.masks.maskText(held.thinking);
      if (this.masks.hits > hits || held.size > MAX_HELD_BYTES) this.omittedBlocks += 1;
      else this.before.push(...held.events, print());
      return true;
    }
    const texts = this.blocks.get(event.index);
    this.blocks.delete(event.index);
    if (texts !== undefined) this.flush(texts);
    return false;
  }

  private maskBlockPiece(index: unknown, name: string, type: unknown, text: string): string {
    let texts = this.blocks.get(index);
    if (texts === undefined) this.blocks.set(index, (texts = new Map<string, OpenText>()));
    let open = texts.get(name);
    if (open === undefined) {
      if (text === '') return text;
      const mask = isJsonName(name) ? this.masks.createJsonMask() : this.masks.createTextMask();
      const carry = (rest: string): JsonObject => ({
        type: 'content_block_delta',
        index,
        delta: { type, [name]: rest },
      });
      texts.set(name, (open = { mask, name, carry }));
    }
    return this.pushPiece(open, text);
  }

  private flush(texts: ReadonlyMap<string, OpenText>): void {
    for (const { mask, carry } of texts.values()) {
      const rest = mask.end();
      if (rest !== '') this.before.push(carry(rest));
    }
  }
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
