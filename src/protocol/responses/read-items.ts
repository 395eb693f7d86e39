import { type Fault } from '../../kernel';
import { type Emission, type JsonObject, type Tally } from '../canonical';
import { brokenStream } from '../stream-reader';
import { isRecord } from '../usage';

interface OutputItemState {
  readonly type: string;
  readonly handle?: number;
  streamed: boolean;
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '');
const list = (value: unknown): JsonObject[] => (Array.isArray(value) ? value.filter(isRecord) : []);

export class ItemReader {
  private readonly openItems = new Map<number, OutputItemState>();

  constructor(
    private readonly emission: Emission,
    private readonly tally: Tally,
  ) {}

  startItem(index: number, item: JsonObject): void {
    const type = text(item.type);
    if (type !== 'function_call' && type !== 'custom_tool_call') {
      this.openItems.set(index, { type, streamed: false });
      return;
    }
    const custom = type === 'custom_tool_call' ? { custom: true } : {};
    const namespace = text(item.namespace) === '' ? {} : { namespace: text(item.namespace) };
    const handle = this.emission.openTool(text(item.call_id), text(item.name), { ...custom, ...namespace });
    this.openItems.set(index, { type, handle, streamed: false });
  }

  /** Adds a piece of visible content; suppliers that send no pieces send the complete item with `finishItem`. */
  addPiece(
    index: number,
    kind: 'text' | 'refusal' | 'reasoning' | 'tool',
    addPiece: string,
  ): Fault | undefined {
    const item = this.openItems.get(index);
    if (!item) return brokenStream('A piece of an output item came before the item.');
    item.streamed = true;
    if (kind === 'text') this.emission.text(addPiece);
    else if (kind === 'refusal') this.emission.refusal(addPiece);
    else if (kind === 'reasoning') this.emission.reasoning(addPiece);
    else if (item.handle !== undefined) this.emission.toolArguments(item.handle, addPiece);
    return undefined;
  }

  /** Separates the parts of a summary by a blank line. */
  summaryPart(index: number, part: unknown): void {
    if (typeof part === 'number' && part > 0 && this.openItems.get(index)?.streamed)
      this.emission.reasoning('\n\n');
  }

  finishItem(index: number, item: JsonObject): void {
    if (!this.openItems.has(index)) this.startItem(index, item);
    const { type, handle, streamed } = this.openItems.get(index)!;
    this.openItems.delete(index);
    switch (type) {
      case 'message':
        this.message(item, streamed);
        break;
      case 'function_call':
      case 'custom_tool_call':
        if (!streamed) this.emission.toolArguments(handle!, text(item.arguments ?? item.input));
        this.emission.closeTool(handle!);
        break;
      case 'reasoning':
        this.reasoning(item, streamed);
        break;
      default:
        this.tally.dropped('output', `an item of the type ${type}`);
    }
  }

  private message(item: JsonObject, streamed: boolean): void {
    for (const part of list(item.content)) {
      if (streamed) break;
      if (part.type === 'refusal') this.emission.refusal(text(part.refusal));
      else this.emission.text(text(part.text));
      list(part.annotations).forEach((value) => this.emission.citation('responses', value));
    }
    this.emission.closeProse();
  }

  private reasoning(item: JsonObject, streamed: boolean): void {
    const parts = [...list(item.summary), ...list(item.content)].map((part) => text(part.text));
    if (!streamed) this.emission.reasoning(parts.join('\n\n'));
    const signature = text(item.encrypted_content);
    if (signature !== '') this.emission.signature('responses', signature);
    this.emission.closeProse();
  }
}
