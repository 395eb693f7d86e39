import { PER_TOKEN, textWeight } from './text-weight';

type Fields = Readonly<Record<string, unknown>>;

const tokens = (count: number): number => count * PER_TOKEN;

/** The frame around a message, a block or a tool costs these tokens. */
const MESSAGE = tokens(4);
const BLOCK = tokens(1);
/** Names, quotes and commas around a value of JSON. */
const MEMBER = tokens(1);
/** A number, or one of the three words of JSON. */
const WORD = tokens(2);
/** The most an image takes: larger ones are scaled down first. */
const IMAGE = tokens(1_600);
/** A page takes its text and its picture. Their number is only to be guessed from the size. */
const PAGE = tokens(3_000);
const BYTES_PER_PAGE = 75_000;

/**
 * A body of the messages dialect takes about so many tokens, for models whose supplier does not say. Every
 * value is looked at once, in a loop, so that neither depth nor number of blocks makes it slow.
 */
export function estimateTokens({ system, messages, tools, tool_choice: choice }: Fields): number {
  const scale = new Scale();
  scale.content(system);
  for (const message of listOf(messages)) {
    scale.weight += MESSAGE;
    scale.content(isFields(message) ? message.content : message);
  }
  for (const tool of listOf(tools)) scale.plain(tool);
  if (choice !== undefined) scale.plain(choice);
  return Math.ceil(scale.weigh() / PER_TOKEN);
}

/** Weighs values and collects those with others in them. `content` is what blocks stand in; the rest is JSON. */
class Scale {
  weight = 0;
  private readonly contents: (readonly unknown[])[] = [];
  private readonly values: object[] = [];

  content(value: unknown): void {
    if (Array.isArray(value)) this.contents.push(value);
    else this.plain(value);
  }

  plain(value: unknown): void {
    if (typeof value === 'string') this.weight += textWeight(value);
    else if (typeof value === 'object' && value !== null) this.values.push(value);
    else if (value !== undefined) this.weight += WORD;
  }

  weigh(): number {
    for (let blocks = this.contents.pop(); blocks !== undefined; blocks = this.contents.pop()) {
      for (const block of blocks) this.weighBlock(block);
    }
    for (let value = this.values.pop(); value !== undefined; value = this.values.pop())
      this.weighInner(value);
    return this.weight;
  }

  private weighBlock(block: unknown): void {
    this.weight += BLOCK;
    if (!isFields(block)) return this.plain(block);
    switch (block.type) {
      case 'text':
        return this.plain(block.text);
      case 'thinking':
        return this.plain(block.thinking);
      case 'tool_use':
        this.plain(block.name);
        return this.plain(block.input);
      case 'tool_result':
        return this.content(block.content);
      case 'image':
        this.weight += IMAGE;
        return;
      case 'document':
        return this.weighDocument(block);
      default:
        return this.plain(block);
    }
  }

  private weighDocument({ source, title, context }: Fields): void {
    this.plain(title);
    this.plain(context);
    if (!isFields(source)) return;
    if (source.type === 'text') return this.plain(source.data);
    if (source.type === 'content') return this.content(source.content);
    this.weight += PAGE;
    if (typeof source.data !== 'string') return;
    const bytes = (source.data.length * 3) / 4;
    this.weight += Math.floor(bytes / BYTES_PER_PAGE) * PAGE;
  }

  private weighInner(value: object): void {
    if (Array.isArray(value)) {
      this.weight += value.length * MEMBER;
      for (const item of value) this.plain(item);
      return;
    }
    for (const [name, inner] of Object.entries(value)) {
      this.weight += MEMBER + textWeight(name);
      this.plain(inner);
    }
  }
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
