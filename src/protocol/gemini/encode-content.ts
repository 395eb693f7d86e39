import {
  argumentsObject,
  type AssistantTurn,
  type ContentBlock,
  countDetail,
  foreignBlock,
  type JsonObject,
  type Opaque,
  type Part,
  type Source,
  type SystemTurn,
  type Tally,
  type ToolNames,
  type ToolResultBlock,
  type ToolTurn,
  type Turn,
  unsupported,
} from '../canonical';

interface Content {
  readonly role: 'user' | 'model';
  readonly parts: JsonObject[];
}

/**
 * The newest models refuse a call of theirs without the signature they gave it, and no dialect of callers brings one
 * back. This is the value the supplier documents for conversations that were held elsewhere.
 */
const UNSIGNED_CALL = 'skip_thought_signature_validator';

/** Writes the conversation in turns of user and model. */
export class GeminiWriter {
  readonly system: JsonObject[] = [];
  private readonly contents: Content[] = [];
  private readonly names = new Map<string, string>();

  constructor(
    private readonly tally: Tally,
    private readonly tools: ToolNames,
  ) {}

  lead(turn: SystemTurn): void {
    this.count(turn);
    for (const block of turn.blocks) {
      this.count(block);
      this.push(this.system, block.text, block.at);
    }
  }

  turn(turn: Turn): void {
    if (turn.role !== 'system') this.count(turn);
    switch (turn.role) {
      case 'system':
        this.tally.approximated(turn.at, 'moved to the system text');
        this.lead(turn);
        break;
      case 'user':
        this.say('user', this.parts(turn.blocks), turn.at);
        break;
      case 'assistant':
        this.say('model', this.assistant(turn), turn.at);
        break;
      case 'tool':
        this.say('user', this.results(turn), turn.at);
        break;
    }
  }

  finish(): Content[] {
    if (this.contents.length === 0 && this.system.length > 0) {
      this.tally.approximated('messages', 'without a user, the last instruction is what is asked');
      this.contents.push({ role: 'user', parts: [this.system.pop()!] });
    }
    return this.contents;
  }

  /** Some models do not go on with a text of their own: a user has the last word. */
  answerable(contents: Content[]): void {
    if (contents.at(-1)?.role !== 'model') return;
    this.tally.approximated('messages', 'a user asks to go on');
    contents.push({ role: 'user', parts: [{ text: 'Continue.' }] });
  }

  private say(role: Content['role'], parts: JsonObject[], at: string): void {
    if (parts.length === 0) return this.tally.dropped(at, 'an empty turn');
    const last = this.contents.at(-1);
    if (last?.role === role) last.parts.push(...parts);
    else this.contents.push({ role, parts });
  }

  private count(part: Part): void {
    if (part.cacheControl) this.tally.dropped(`${part.at}.cache_control`, 'unknown to the target');
    leaveOut(part, this.tally);
  }

  private push(parts: JsonObject[], text: string, at: string): void {
    if (text === '') this.tally.dropped(at, 'an empty text');
    else parts.push({ text });
  }

  private parts(blocks: readonly ContentBlock[]): JsonObject[] {
    const parts: JsonObject[] = [];
    for (const block of blocks) {
      const known = block.type === 'opaque' ? foreignBlock(block, this.tally) : block;
      if (known === undefined) continue;
      this.count(known);
      if (known.type === 'image') countDetail(known, this.tally);
      if (known.type === 'text') this.push(parts, known.text, known.at);
      else parts.push(this.attachment(known));
    }
    return parts;
  }

  private assistant({ blocks }: AssistantTurn): JsonObject[] {
    const parts: JsonObject[] = [];
    for (const block of blocks) {
      if (block.type !== 'opaque' && block.type !== 'reasoning') this.count(block);
      switch (block.type) {
        case 'text':
        case 'refusal':
          this.push(parts, block.text, block.at);
          break;
        case 'reasoning':
          this.tally.dropped(block.at, 'reasoning without a signature of the target');
          break;
        case 'tool-use': {
          const name = this.tools.nameOf(block);
          this.names.set(block.id, name);
          const args = block.custom ? { input: block.arguments } : argumentsObject(block.arguments);
          parts.push({ functionCall: { name, args }, thoughtSignature: UNSIGNED_CALL });
          break;
        }
        case 'opaque':
          parts.push(...this.parts([block]));
          break;
      }
    }
    return parts;
  }

  /** Results stand together, in front; what they show besides text follows them. */
  private results({ results }: ToolTurn): JsonObject[] {
    const attachments: JsonObject[] = [];
    const parts = results.map((result) => this.result(result, attachments));
    return [...parts, ...attachments];
  }

  private result(result: ToolResultBlock, attachments: JsonObject[]): JsonObject {
    this.count(result);
    const shown = this.parts(result.blocks);
    const text = shown.map((part) => (typeof part.text === 'string' ? part.text : '')).join('');
    const others = shown.filter((part) => part.text === undefined);
    if (others.length > 0) this.tally.approximated(result.at, 'attachments moved behind the results');
    attachments.push(...others);
    const name = this.names.get(result.toolUseId) ?? result.toolUseId;
    return { functionResponse: { name, response: result.isError ? { error: text } : { output: text } } };
  }

  private attachment(block: Exclude<ContentBlock, { type: 'text' | 'opaque' }>): JsonObject {
    if (block.type === 'audio')
      return { inlineData: { mimeType: `audio/${block.format}`, data: block.data } };
    const { source } = block;
    if (source.kind !== 'text') return fileOf(source);
    this.tally.approximated(block.at, 'carried as plain text');
    return { text: source.text };
  }
}

/** Fields that only other dialects know are refused where the answer would be another, else counted. */
export function leaveOut({ opaque }: { readonly opaque?: readonly Opaque[] }, tally: Tally): void {
  for (const { at, essential } of opaque ?? []) {
    if (essential) throw unsupported(at, `This model cannot be asked for ${at}.`, essential.details);
    tally.dropped(at, 'unknown to the target');
  }
}

const fileOf = (source: Source): JsonObject =>
  source.kind === 'url'
    ? { fileData: { fileUri: source.url } }
    : { inlineData: { mimeType: source.mediaType, data: source.data } };
