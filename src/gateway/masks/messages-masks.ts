import { isRecord, type JsonObject } from '../../protocol';
import { EventMasks, type Fate, type OpenText } from './event-masks';
import { isJsonName, isTextName, maskedValue, maskMembers } from './masked-values';

/** A thinking block with more is left out. */
const MOST_HELD = 16 * 1024 * 1024;

interface HeldBlock {
  readonly events: string[];
  size: number;
  thinking: string;
}

/** Thinking is held back until its block ends, since a block with a match is left out. */
export class MessagesMasks extends EventMasks {
  private readonly blocks = new Map<unknown, Map<string, OpenText>>();
  private readonly held = new Map<unknown, HeldBlock>();
  /** How many blocks were left out: those after them move up. */
  private leftOut = 0;

  read(event: JsonObject, written: (isChanged: boolean) => string): Fate {
    const { type, index, content_block: block, delta } = event;
    const { changes } = this.masks;
    const isMoved = this.leftOut > 0 && typeof index === 'number';
    this.begin();
    if (isMoved) {
      event.index = index - this.leftOut;
      this.differs = true;
      this.pieces = 1;
    }
    const shown = (): string => written(isMoved);
    if (type === 'content_block_start' && isRecord(block)) {
      if (this.start(event, block, shown)) return 'held';
    } else if (type === 'content_block_delta' && isRecord(delta)) {
      if (this.more(event, delta, shown)) return 'held';
    } else if (type === 'content_block_stop') {
      if (this.stop(event, shown)) return 'held';
    } else if (type === 'message_start' || type === 'error') maskMembers(this.masks, event);
    return this.differs || this.masks.changes > changes ? 'changed' : 'same';
  }

  over(): void {
    for (const texts of this.blocks.values()) this.flush(texts);
  }

  /** It is true where the event is held. */
  private start(event: JsonObject, block: JsonObject, shown: () => string): boolean {
    const at = event.index;
    if (block.type === 'thinking') {
      this.held.set(at, { events: [shown()], size: 0, thinking: textOf(block.thinking) });
      return true;
    }
    this.blocks.set(at, new Map());
    for (const name of Object.keys(block)) {
      const value = block[name];
      if (name === 'text' && typeof value === 'string')
        block.text = this.piece(at, name, 'text_delta', value);
      else block[name] = maskedValue(this.masks, value, name);
    }
    return false;
  }

  private more(event: JsonObject, delta: JsonObject, shown: () => string): boolean {
    const held = this.held.get(event.index);
    if (held !== undefined) {
      held.thinking += textOf(delta.thinking);
      const written = shown();
      held.size += written.length;
      if (held.size <= MOST_HELD) held.events.push(written);
      return true;
    }
    for (const name of Object.keys(delta)) {
      const value = delta[name];
      if (typeof value === 'string' && isTextName(name))
        delta[name] = this.piece(event.index, name, delta.type, value);
      else delta[name] = maskedValue(this.masks, value, name);
    }
    return false;
  }

  private stop(event: JsonObject, shown: () => string): boolean {
    const held = this.held.get(event.index);
    if (held !== undefined) {
      this.held.delete(event.index);
      const { hits } = this.masks;
      this.masks.whole(held.thinking);
      if (this.masks.hits > hits || held.size > MOST_HELD) this.leftOut += 1;
      else this.before.push(...held.events, shown());
      return true;
    }
    const texts = this.blocks.get(event.index);
    this.blocks.delete(event.index);
    if (texts !== undefined) this.flush(texts);
    return false;
  }

  private piece(index: unknown, name: string, type: unknown, text: string): string {
    let texts = this.blocks.get(index);
    if (texts === undefined) this.blocks.set(index, (texts = new Map<string, OpenText>()));
    let open = texts.get(name);
    if (open === undefined) {
      if (text === '') return text;
      const mask = isJsonName(name) ? this.masks.jsonText() : this.masks.text();
      const carry = (rest: string): JsonObject => ({
        type: 'content_block_delta',
        index,
        delta: { type, [name]: rest },
      });
      texts.set(name, (open = { mask, name, carry }));
    }
    return this.pushed(open, text);
  }

  private flush(texts: ReadonlyMap<string, OpenText>): void {
    for (const { mask, carry } of texts.values()) {
      const rest = mask.end();
      if (rest !== '') this.before.push(carry(rest));
    }
  }
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
