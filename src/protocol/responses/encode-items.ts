import {
  type AssistantTurn,
  type ContentBlock,
  type DocumentBlock,
  foreignBlock,
  isReadable,
  type JsonObject,
  type RequestPart,
  withoutUndefined,
  type ReasoningBlock,
  shortIds,
  type Tally,
  type EncodingTarget,
  type TextBlock,
  ToolIds,
  type ToolNames,
  type ToolResultBlock,
  type ToolUseBlock,
  type CanonicalTurn,
} from '../canonical';
import { urlOf } from '../chat/decode-content';

const OTHER_LANE_REASON = 'encrypted reasoning of another lane';

export class ItemWriter {
  readonly items: JsonObject[] = [];
  private readonly ids = new ToolIds(shortIds);

  constructor(
    private readonly tally: Tally,
    private readonly names: ToolNames,
    private readonly target: EncodingTarget,
  ) {}

  turn(turn: CanonicalTurn): void {
    const first = this.items.length;
    switch (turn.role) {
      case 'system':
        this.message(turn.developer ? 'developer' : 'system', this.contents(turn.blocks), turn);
        break;
      case 'user':
        this.message('user', this.contents(turn.blocks), turn);
        break;
      case 'assistant':
        this.assistant(turn);
        break;
      case 'tool':
        for (const result of turn.results) this.items.push(result.item ?? this.result(result));
        break;
    }
    if (turn.cacheControl) this.tally.dropped(`${turn.at}.cache_control`, 'unknown to the target');
    if (turn.opaque) this.tally.carry('responses', this.items[first] ?? {}, turn.opaque);
  }

  private message(role: string, content: JsonObject[], part: RequestPart): void {
    if (content.length === 0) this.tally.dropped(part.at, 'an empty turn');
    else this.items.push({ type: 'message', role, content });
  }

  private withOpaque(value: JsonObject, { at, cacheControl, opaque }: RequestPart): JsonObject {
    if (cacheControl) this.tally.dropped(`${at}.cache_control`, 'unknown to the target');
    this.tally.carry('responses', value, opaque);
    return value;
  }

  private contents(blocks: readonly ContentBlock[]): JsonObject[] {
    return blocks.flatMap((block) => {
      const converted =
        block.type === 'opaque' && block.dialect !== 'responses' ? foreignBlock(block, this.tally) : block;
      return converted ? [this.withOpaque(this.content(converted), converted)] : [];
    });
  }

  private content(block: ContentBlock): JsonObject {
    switch (block.type) {
      case 'text':
        return { type: 'input_text', text: block.text };
      case 'image':
        return withoutUndefined({
          type: 'input_image',
          image_url: urlOf(block.source),
          detail: block.detail,
        });
      case 'audio':
        return { type: 'input_audio', input_audio: { data: block.data, format: block.format } };
      case 'document':
        return this.document(block);
      case 'opaque':
        return block.value;
    }
  }

  private document({ source, title, at }: DocumentBlock): JsonObject {
    if (source.kind === 'url')
      return withoutUndefined({ type: 'input_file', file_url: source.url, filename: title });
    if (source.kind === 'data') {
      return { type: 'input_file', filename: title ?? 'document.pdf', file_data: urlOf(source) };
    }
    this.tally.approximated(at, 'carried as plain text');
    return { type: 'input_text', text: title === undefined ? source.text : `${title}\n\n${source.text}` };
  }

  /** Adjacent texts form one message; reasoning and calls are separate items. */
  private assistant(turn: AssistantTurn): void {
    let content: JsonObject[] = [];
    this.ids.beginTurn();
    const flush = (): void => {
      if (content.length > 0) this.items.push({ type: 'message', role: 'assistant', content: content });
      content = [];
    };
    for (const block of turn.blocks) {
      switch (block.type) {
        case 'text':
          content.push(this.outputText(block));
          break;
        case 'refusal':
          content.push({ type: 'refusal', refusal: block.text });
          break;
        case 'tool-use':
          flush();
          this.items.push(block.item ?? this.withOpaque(this.call(block), block));
          break;
        case 'reasoning':
          flush();
          this.reasoning(block);
          break;
        case 'opaque': {
          if (block.dialect === 'responses') {
            flush();
            this.items.push(block.value);
            break;
          }
          const replacement = foreignBlock(block, this.tally);
          if (replacement) content.push(this.outputText(replacement));
          break;
        }
      }
    }
    flush();
  }

  private outputText(block: TextBlock): JsonObject {
    return this.withOpaque({ type: 'output_text', text: block.text, annotations: [] }, block);
  }

  private reasoning(block: ReasoningBlock): void {
    const { origin, signature, text, at } = block;
    const isForeign = signature !== undefined && !isReadable(block, 'responses', this.target.reads);
    if (origin !== 'responses' || isForeign) {
      this.tally.dropped(
        at,
        isForeign && origin === 'responses' ? OTHER_LANE_REASON : 'reasoning of another dialect',
      );
      return;
    }
    const summary = text === '' ? [] : [{ type: 'summary_text', text }];
    this.items.push(withoutUndefined({ type: 'reasoning', summary, encrypted_content: signature }));
  }

  private call(block: ToolUseBlock): JsonObject {
    const { id, custom, arguments: text } = block;
    const call_id = this.ids.forCall(id);
    const namespace = this.target.customTools ? block.namespace : undefined;
    const name = namespace === undefined ? this.names.nameOf(block) : block.name;
    if (custom && this.target.customTools) {
      return withoutUndefined({ type: 'custom_tool_call', call_id, name, namespace, input: text });
    }
    const json = custom ? JSON.stringify({ input: text }) : text;
    return withoutUndefined({
      type: 'function_call',
      call_id,
      name,
      namespace,
      arguments: json === '' ? '{}' : json,
    });
  }

  private result(result: ToolResultBlock): JsonObject {
    const contents = this.contents(result.blocks);
    const [only] = contents;
    const plain = contents.length === 1 && only!.type === 'input_text' && Object.keys(only!).length === 2;
    if (result.isError) this.tally.dropped(`${result.at}.is_error`, 'unknown to the target');
    const custom = result.custom && this.target.customTools;
    const output = contents.length === 0 ? '' : plain ? only!.text : contents;
    const type = custom ? 'custom_tool_call_output' : 'function_call_output';
    return this.withOpaque({ type, call_id: this.ids.forResult(result.toolUseId), output }, result);
  }
}
