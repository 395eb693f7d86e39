import {
  type AssistantTurn,
  type ContentBlock,
  type DocumentBlock,
  foreignBlock,
  joinText,
  type JsonObject,
  type EncodingTarget,
  type TextBlock,
  type Tally,
  type ToolNames,
  type ToolResultBlock,
  type CanonicalTurn,
  unsupported,
} from '../canonical';
import { urlOf } from './decode-content';

export class MessageWriter {
  readonly messages: JsonObject[] = [];

  constructor(
    private readonly tally: Tally,
    private readonly names: ToolNames,
    private readonly target: EncodingTarget,
  ) {}

  turn(turn: CanonicalTurn): void {
    const first = this.messages.length;
    switch (turn.role) {
      case 'system':
        this.system(turn.blocks, turn.developer === true);
        break;
      case 'user':
        this.user(turn.blocks);
        break;
      case 'assistant':
        this.assistant(turn);
        break;
      case 'tool':
        this.results(turn.results);
        break;
    }
    const written = this.messages[first];
    if (turn.opaque) this.tally.carry('chat', written ?? {}, turn.opaque);
  }

  private system(blocks: readonly TextBlock[], developer: boolean): void {
    const role = developer && this.target.developerRole !== false ? 'developer' : 'system';
    this.messages.push({ role, content: this.content(blocks) });
  }

  private user(blocks: readonly ContentBlock[]): void {
    this.messages.push({ role: 'user', content: this.content(blocks) });
  }

  private assistant(turn: AssistantTurn): void {
    const texts: JsonObject[] = [];
    const calls: JsonObject[] = [];
    const message: JsonObject = { role: 'assistant' };
    for (const block of turn.blocks) {
      if (block.cacheControl) this.tally.dropped(`${block.at}.cache_control`, 'unknown to the target');
      switch (block.type) {
        case 'text':
          texts.push(this.withOpaque({ type: 'text', text: block.text }, block));
          break;
        case 'refusal':
          message.refusal = `${typeof message.refusal === 'string' ? message.refusal : ''}${block.text}`;
          break;
        case 'reasoning':
          if (block.signature !== undefined && block.origin !== 'chat') {
            this.tally.dropped(`${block.at}.signature`, 'only its own dialect understands it');
          }
          if (this.target.reasoningHistory && block.text !== '') {
            message.reasoning_content = joinText(
              [
                { text: typeof message.reasoning_content === 'string' ? message.reasoning_content : '' },
                block,
              ],
              '',
            );
          } else if (block.text !== '') {
            this.tally.dropped(block.at, 'the target does not take earlier reasoning');
          }
          break;
        case 'tool-use':
          calls.push(this.withOpaque(this.call(block), block));
          break;
        case 'opaque': {
          const replacement = block.dialect === 'chat' ? undefined : foreignBlock(block, this.tally);
          if (replacement) texts.push({ type: 'text', text: replacement.text });
          break;
        }
      }
    }
    const content = contentOf(texts);
    if (calls.length > 0) message.tool_calls = calls;
    if (content === '' && calls.length === 0 && message.refusal === undefined) {
      this.tally.dropped(turn.at, 'an empty turn');
      return;
    }
    this.messages.push({ ...message, content: content === '' ? null : content });
  }

  private call(block: Extract<AssistantTurn['blocks'][number], { type: 'tool-use' }>): JsonObject {
    const { id, custom } = block;
    const name = this.names.nameOf(block);
    if (custom && this.target.customTools) {
      return { id, type: 'custom', custom: { name, input: block.arguments } };
    }
    const text = custom ? JSON.stringify({ input: block.arguments }) : block.arguments;
    return { id, type: 'function', function: { name, arguments: text === '' ? '{}' : text } };
  }

  /** Only text can be a tool result in this dialect; images and files follow in a user message. */
  private results(results: readonly ToolResultBlock[]): void {
    const media: JsonObject[] = [];
    for (const result of results) {
      const texts: TextBlock[] = [];
      for (const block of result.blocks) {
        if (block.type === 'text') texts.push(block);
        else if (block.type === 'opaque')
          texts.push(...[foreignBlock(block, this.tally)].filter((text) => !!text));
        else {
          this.tally.approximated(block.at, 'moved from the tool result to a user message');
          media.push(
            { type: 'text', text: `Returned by the tool call ${result.toolUseId}:` },
            this.part(block),
          );
        }
      }
      if (result.isError) this.tally.dropped(`${result.at}.is_error`, 'unknown to the target');
      if (result.cacheControl) this.tally.dropped(`${result.at}.cache_control`, 'unknown to the target');
      const content =
        texts.length === 0 && result.blocks.length > 0 ? 'See the next message.' : this.content(texts);
      this.messages.push(this.withOpaque({ role: 'tool', tool_call_id: result.toolUseId, content }, result));
    }
    if (media.length > 0) this.messages.push({ role: 'user', content: media });
  }

  private content(blocks: readonly ContentBlock[]): string | JsonObject[] {
    return contentOf(
      blocks.flatMap((block) => {
        const converted =
          block.type === 'opaque' && block.dialect !== 'chat' ? foreignBlock(block, this.tally) : block;
        return converted ? [this.part(converted)] : [];
      }),
    );
  }

  private part(block: ContentBlock): JsonObject {
    if (block.cacheControl) this.tally.dropped(`${block.at}.cache_control`, 'unknown to the target');
    return this.withOpaque(this.contentPart(block), block);
  }

  private withOpaque(value: JsonObject, block: { readonly opaque?: ContentBlock['opaque'] }): JsonObject {
    this.tally.carry('chat', value, block.opaque);
    return value;
  }

  private contentPart(block: ContentBlock): JsonObject {
    switch (block.type) {
      case 'text':
        return { type: 'text', text: block.text };
      case 'image': {
        const { source, detail } = block;
        return {
          type: 'image_url',
          image_url: { url: urlOf(source), ...(detail !== undefined && { detail }) },
        };
      }
      case 'audio':
        return { type: 'input_audio', input_audio: { data: block.data, format: block.format } };
      case 'document':
        return this.document(block);
      case 'opaque':
        return block.value;
    }
  }

  private document({ source, title, at }: DocumentBlock): JsonObject {
    if (source.kind === 'text') {
      this.tally.approximated(at, 'carried as plain text');
      return { type: 'text', text: title === undefined ? source.text : `${title}\n\n${source.text}` };
    }
    if (source.kind === 'url') {
      throw unsupported(`${at}.source`, 'This model takes documents by value only, not by address.');
    }
    const filename = title ?? 'document.pdf';
    return { type: 'file', file: { filename, file_data: urlOf(source) } };
  }
}

function contentOf(parts: readonly JsonObject[]): string | JsonObject[] {
  if (parts.length === 0) return '';
  const [only] = parts;
  const plain = parts.length === 1 && only!.type === 'text' && Object.keys(only!).length === 2;
  return plain ? (only!.text as string) : [...parts];
}
