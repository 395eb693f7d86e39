import { WEIGHT_PER_TOKEN, textWeight } from './text-weight';

type MessageFields = Readonly<Record<string, unknown>>;

const weightOfTokens = (count: number): number => count * WEIGHT_PER_TOKEN;

const MESSAGE_WEIGHT = weightOfTokens(4);
const BLOCK_WEIGHT = weightOfTokens(1);
/** Names, quotes and commas around a JSON value. */
const MEMBER_WEIGHT = weightOfTokens(1);
const WORD_WEIGHT = weightOfTokens(2);
/** Maximum for an image, as larger ones are scaled down first. */
const IMAGE_WEIGHT = weightOfTokens(1_600);
/** Text and picture of a page. The number of pages is estimated from the size. */
const PAGE_WEIGHT = weightOfTokens(3_000);
const BYTES_PER_PAGE = 75_000;

/**
 * Estimates the tokens of a Messages body for suppliers that do not count. Iterative, so that neither depth nor number
 * of blocks makes it slow.
 */
export function estimateTokens({ system, messages, tools, tool_choice: choice }: MessageFields): number {
  const scale = new Scale();
  scale.addContent(system);
  for (const message of listOf(messages)) {
    scale.weight += MESSAGE_WEIGHT;
    scale.addContent(isFields(message) ? message.content : message);
  }
  for (const tool of listOf(tools)) scale.addValue(tool);
  if (choice !== undefined) scale.addValue(choice);
  return Math.ceil(scale.weigh() / WEIGHT_PER_TOKEN);
}

/** Weighs values and queues nested ones: blocks in `contents`, other JSON in `values`. */
class Scale {
  weight = 0;
  private readonly contents: (readonly unknown[])[] = [];
  private readonly values: object[] = [];

  addContent(value: unknown): void {
    if (Array.isArray(value)) this.contents.push(value);
    else this.addValue(value);
  }

  addValue(value: unknown): void {
    if (typeof value === 'string') this.weight += textWeight(value);
    else if (typeof value === 'object' && value !== null) this.values.push(value);
    else if (value !== undefined) this.weight += WORD_WEIGHT;
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
    this.weight += BLOCK_WEIGHT;
    if (!isFields(block)) return this.addValue(block);
    switch (block.type) {
      case 'text':
        return this.addValue(block.text);
      case 'thinking':
        return this.addValue(block.thinking);
      case 'tool_use':
        this.addValue(block.name);
        return this.addValue(block.input);
      case 'tool_result':
        return this.addContent(block.content);
      case 'image':
        this.weight += IMAGE_WEIGHT;
        return;
      case 'document':
        return this.weighDocument(block);
      default:
        return this.addValue(block);
    }
  }

  private weighDocument({ source, title, context }: MessageFields): void {
    this.addValue(title);
    this.addValue(context);
    if (!isFields(source)) return;
    if (source.type === 'text') return this.addValue(source.data);
    if (source.type === 'content') return this.addContent(source.content);
    this.weight += PAGE_WEIGHT;
    if (typeof source.data !== 'string') return;
    const bytes = (source.data.length * 3) / 4;
    this.weight += Math.floor(bytes / BYTES_PER_PAGE) * PAGE_WEIGHT;
  }

  private weighInner(value: object): void {
    if (Array.isArray(value)) {
      this.weight += value.length * MEMBER_WEIGHT;
      for (const item of value) this.addValue(item);
      return;
    }
    for (const [name, inner] of Object.entries(value)) {
      this.weight += MEMBER_WEIGHT + textWeight(name);
      this.addValue(inner);
    }
  }
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

const isFields = (value: unknown): value is MessageFields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
