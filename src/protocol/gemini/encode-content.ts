import {
  argumentsObject,
  type AssistantTurn,
  type ContentBlock,
  countDetail,
  foreignBlock,
  type JsonObject,
  type Opaque,
  type RequestPart,
  type Source,
  type SystemTurn,
  type Tally,
  type ToolNames,
  type ToolResultBlock,
  type ToolTurn,
  type CanonicalTurn,
  unsupported,
} from '../canonical';

interface GeminiContent {
  readonly role: 'user' | 'model';
  readonly parts: JsonObject[];
}

/**
 * The newest models refuse a call of theirs without its signature, which no caller's dialect carries. Documented
 * placeholder for conversations from elsewhere.
 */
const UNSIGNED_CALL = 'skip_thought_signature_validator';

export class GeminiWriter {
  readonly system: JsonObject[] = [];
  private readonly contents: GeminiContent[] = [];
  private readonly names = new Map<string, string>();

  constructor(
    private readonly tally: Tally,
    private readonly tools: ToolNames,
  ) {}

  addSystem(turn: SystemTurn): void {
    this.count(turn);
    for (const block of turn.blocks) {
      this.count(block);
      this.push(this.system, block.text, block.at);
    }
  }

  turn(turn: CanonicalTurn): void {
    if (turn.role !== 'system') this.count(turn);
    switch (turn.role) {
      case 'system':
        this.tally.approximated(turn.at, 'moved to the system text');
        this.addSystem(turn);
        break;
      case 'user':
        this.append('user', this.parts(turn.blocks), turn.at);
        break;
      case 'assistant':
        this.append('model', this.assistant(turn), turn.at);
        break;
      case 'tool':
        this.append('user', this.results(turn), turn.at);
        break;
    }
  }

  finish(): GeminiContent[] {
    if (this.contents.length === 0 && this.system.length > 0) {
      this.tally.approximated('messages', 'without a user, the last instruction is what is asked');
      this.contents.push({ role: 'user', parts: [this.system.pop()!] });
    }
    return this.contents;
  }

  /** Some models cannot continue their own text: the last turn must be a user's. */
  ensureUserLast(contents: GeminiContent[]): void {
    if (contents.at(-1)?.role !== 'model') return;
    this.tally.approximated('messages', 'a user asks to go on');
    contents.push({ role: 'user', parts: [{ text: 'Continue.' }] });
  }

  private append(role: GeminiContent['role'], parts: JsonObject[], at: string): void {
    if (parts.length === 0) return this.tally.dropped(at, 'an empty turn');
    const last = this.contents.at(-1);
    if (last?.role === role) last.parts.push(...parts);
    else this.contents.push({ role, parts });
  }

  private count(part: RequestPart): void {
    if (part.cacheControl) this.tally.dropped(`${part.at}.cache_control`, 'unknown to the target');
    dropOpaque(part, this.tally);
  }

  private push(parts: JsonObject[], text: string, at: string): void {
    if (text === '') this.tally.dropped(at, 'an empty text');
    else parts.push({ text });
  }

  private parts(blocks: readonly ContentBlock[]): JsonObject[] {
    const parts: JsonObject[] = [];
    for (const block of blocks) {
      const converted = block.type === 'opaque' ? foreignBlock(block, this.tally) : block;
      if (converted === undefined) continue;
      this.count(converted);
      if (converted.type === 'image') countDetail(converted, this.tally);
      if (converted.type === 'text') this.push(parts, converted.text, converted.at);
      else parts.push(this.attachment(converted));
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

  /** Results come first, as a group; their attachments follow. */
  private results({ results }: ToolTurn): JsonObject[] {
    const attachments: JsonObject[] = [];
    const parts = results.map((result) => this.result(result, attachments));
    return [...parts, ...attachments];
  }

  private result(result: ToolResultBlock, attachments: JsonObject[]): JsonObject {
    this.count(result);
    const resultParts = this.parts(result.blocks);
    const text = resultParts.map((part) => (typeof part.text === 'string' ? part.text : '')).join('');
    const others = resultParts.filter((part) => part.text === undefined);
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

/** Counts fields of other dialects as dropped, and refuses if one is essential. */
export function dropOpaque({ opaque }: { readonly opaque?: readonly Opaque[] }, tally: Tally): void {
  for (const { at, essential } of opaque ?? []) {
    if (essential) throw unsupported(at, `This model cannot be asked for ${at}.`, essential.details);
    tally.dropped(at, 'unknown to the target');
  }
}

const fileOf = (source: Source): JsonObject =>
  source.kind === 'url'
    ? { fileData: { fileUri: source.url } }
    : { inlineData: { mimeType: source.mediaType, data: source.data } };
