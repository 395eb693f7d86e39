import { JsonText } from '../../kernel';
import {
  argumentsObject,
  type AssistantTurn,
  type ContentBlock,
  countDetail,
  type DocumentBlock,
  foreignBlock,
  type ImageBlock,
  isReadable,
  type JsonObject,
  type RequestPart,
  type ReasoningBlock,
  type SystemTurn,
  type Tally,
  type EncodingTarget,
  ToolIds,
  type ToolNames,
  type ToolResultBlock,
  type ToolUseBlock,
  type CanonicalTurn,
  unsupported,
} from '../canonical';

const IMAGE_TYPES = new Set(['image/jpeg', 'image/png', 'image/gif', 'image/webp']);

/** Text of a user turn that this dialect requires if the conversation starts without one. */
const OPENING = 'Continue.';

interface MessagesTurn {
  readonly role: 'user' | 'assistant' | 'system';
  readonly content: JsonObject[];
}

export class ConversationWriter {
  readonly system: JsonObject[] = [];
  private readonly messages: MessagesTurn[] = [];
  private readonly extras = new Map<MessagesTurn, JsonObject>();
  private readonly ids = new ToolIds();

  constructor(
    private readonly tally: Tally,
    private readonly names: ToolNames,
    private readonly target: EncodingTarget,
  ) {}

  addSystem(turn: SystemTurn): void {
    for (const block of turn.blocks) this.pushText(this.system, block.text, block);
    this.tally.carry('messages', {}, turn.opaque);
  }

  turn(turn: CanonicalTurn): void {
    switch (turn.role) {
      case 'system':
        if (this.target.systemInTurns) this.append(turn, 'system', this.contents(turn.blocks));
        else {
          this.tally.approximated(turn.at, 'moved to the system text');
          this.addSystem(turn);
        }
        break;
      case 'user':
        this.append(turn, 'user', this.contents(turn.blocks));
        break;
      case 'assistant':
        this.append(turn, 'assistant', this.assistant(turn));
        break;
      case 'tool':
        this.append(
          turn,
          'user',
          turn.results.map((result) => this.result(result)),
        );
        break;
    }
  }

  finish(): JsonObject[] {
    if (this.messages.length === 0 && this.system.length > 0) {
      this.tally.approximated('messages', 'without a user, the last instruction is what is asked');
      this.messages.push({ role: 'user', content: [this.system.pop()!] });
    }
    const first = this.messages.find((message) => message.role !== 'system');
    if (first?.role === 'assistant') {
      this.tally.approximated('messages', 'a user opens the conversation');
      this.messages.unshift({ role: 'user', content: [{ type: 'text', text: OPENING }] });
    }
    this.trimLast();
    return this.messages.map((message) => ({
      role: message.role,
      content: textOrParts(message.content),
      ...this.extras.get(message),
    }));
  }

  /** Some models cannot continue their own text: the last turn must be a user's. */
  ensureUserLast(messages: JsonObject[]): void {
    if (messages.at(-1)?.role !== 'assistant') return;
    this.tally.approximated('messages', 'a user asks to go on');
    messages.push({ role: 'user', content: OPENING });
  }

  get plainSystem(): string | JsonObject[] | undefined {
    return this.system.length === 0 ? undefined : textOrParts(this.system);
  }

  /** A prefilled assistant text must not end in whitespace. */
  private trimLast(): void {
    const last = this.messages.at(-1);
    const block = last?.role === 'assistant' ? last.content.at(-1) : undefined;
    if (block?.type === 'text') block.text = String(block.text).trimEnd();
  }

  private append(turn: CanonicalTurn, role: MessagesTurn['role'], content: JsonObject[]): void {
    const last = this.messages.at(-1);
    if (content.length === 0) {
      this.tally.dropped(turn.at, 'an empty turn');
      return;
    }
    const message = last?.role === role ? last : { role, content: [] };
    if (message !== last) this.messages.push(message);
    message.content.push(...content);
    const extra = this.extras.get(message) ?? {};
    if (turn.cacheControl) extra.cache_control = turn.cacheControl;
    this.tally.carry('messages', extra, turn.opaque);
    this.extras.set(message, extra);
  }

  private withMarks(value: JsonObject, { cacheControl, opaque }: RequestPart): JsonObject {
    if (cacheControl) value.cache_control = cacheControl;
    this.tally.carry('messages', value, opaque);
    return value;
  }

  /** Blank texts are refused by this dialect and carry no content. */
  private pushText(list: JsonObject[], text: string, part: RequestPart): void {
    if (text.trim() === '') this.tally.dropped(part.at, 'a blank text');
    else list.push(this.withMarks({ type: 'text', text }, part));
  }

  private contents(blocks: readonly ContentBlock[]): JsonObject[] {
    const list: JsonObject[] = [];
    for (const block of blocks) {
      const converted =
        block.type === 'opaque' && block.dialect !== 'messages' ? foreignBlock(block, this.tally) : block;
      if (converted?.type === 'text') this.pushText(list, converted.text, converted);
      else if (converted?.type === 'opaque') list.push(converted.value);
      else if (converted) list.push(this.withMarks(this.attachment(converted), converted));
    }
    return list;
  }

  private attachment(block: Exclude<ContentBlock, { type: 'text' | 'opaque' }>): JsonObject {
    if (block.type === 'image') return this.image(block);
    if (block.type === 'document') return documentOf(block);
    throw unsupported(block.at, 'This model does not listen to audio.');
  }

  private image(block: ImageBlock): JsonObject {
    const { source, at } = block;
    countDetail(block, this.tally);
    if (source.kind === 'url') return { type: 'image', source: { type: 'url', url: source.url } };
    if (!IMAGE_TYPES.has(source.mediaType)) {
      throw unsupported(at, `This model takes ${[...IMAGE_TYPES].join(', ')}, not ${source.mediaType}.`);
    }
    return { type: 'image', source: { type: 'base64', media_type: source.mediaType, data: source.data } };
  }

  private result(result: ToolResultBlock): JsonObject {
    const value: JsonObject = { type: 'tool_result', tool_use_id: this.ids.forResult(result.toolUseId) };
    const content = this.contents(result.blocks);
    if (content.length > 0) value.content = textOrParts(content);
    if (result.isError !== undefined) value.is_error = result.isError;
    return this.withMarks(value, result);
  }

  private assistant(turn: AssistantTurn): JsonObject[] {
    const list: JsonObject[] = [];
    this.ids.beginTurn();
    for (const block of turn.blocks) {
      switch (block.type) {
        case 'text':
        case 'refusal':
          this.pushText(list, block.text, block);
          break;
        case 'reasoning':
          this.reasoning(list, block);
          break;
        case 'tool-use':
          list.push(this.withMarks(this.call(block), block));
          break;
        case 'opaque':
          list.push(...this.contents([block]));
          break;
      }
    }
    return list;
  }

  /** Only reasoning signed by this dialect's suppliers can be sent back to them. */
  private reasoning(list: JsonObject[], block: ReasoningBlock): void {
    const { signature, text, redacted } = block;
    if (!isReadable(block, 'messages', this.target.reads)) {
      this.tally.dropped(block.at, 'reasoning without a signature of the target');
    } else if (redacted) list.push(this.withMarks({ type: 'redacted_thinking', data: signature }, block));
    else list.push(this.withMarks({ type: 'thinking', thinking: text, signature }, block));
  }

  private call(block: ToolUseBlock): JsonObject {
    const input = block.custom ? { input: block.arguments } : this.inputOf(block);
    return { type: 'tool_use', id: this.ids.forCall(block.id), name: this.names.nameOf(block), input };
  }

  private inputOf({ arguments: text, at }: ToolUseBlock): JsonObject | JsonText {
    const input = argumentsObject(text);
    if (!(input instanceof JsonText) && input.arguments === text)
      this.tally.approximated(at, 'arguments that are no JSON object');
    return input;
  }
}

function documentOf({ source, title, at }: DocumentBlock): JsonObject {
  const titleField = title === undefined ? {} : { title };
  if (source.kind === 'url')
    return { type: 'document', source: { type: 'url', url: source.url }, ...titleField };
  const text = (data: string): JsonObject => ({
    type: 'document',
    source: { type: 'text', media_type: 'text/plain', data },
    ...titleField,
  });
  if (source.kind === 'text') return text(source.text);
  if (source.mediaType.startsWith('text/')) return text(Buffer.from(source.data, 'base64').toString('utf8'));
  if (source.mediaType !== 'application/pdf') {
    throw unsupported(
      at,
      `This model takes documents as application/pdf or text, not as ${source.mediaType}.`,
    );
  }
  return {
    type: 'document',
    source: { type: 'base64', media_type: source.mediaType, data: source.data },
    ...titleField,
  };
}

function textOrParts(content: JsonObject[]): string | JsonObject[] {
  const [only] = content;
  const plain = content.length === 1 && only!.type === 'text' && Object.keys(only!).length === 2;
  return plain ? String(only!.text) : content;
}
