import { formatEvent } from '../../kernel';
import { type JsonObject } from '../canonical';
import { messagesId } from '../messages/stream-encoder';
import { isRecord } from '../usage';
import {
  isAbsent,
  Lacks,
  NOTHING_LACKS,
  type Lack,
  type StreamFacts,
  type StreamMender,
  type UsagePlace,
} from './mender';

/** Blocks begin with an empty text or an empty object, which their pieces are added to. */
const BEGINNINGS: ReadonlyMap<unknown, JsonObject> = new Map<unknown, JsonObject>([
  ['text', { text: '' }],
  ['thinking', { thinking: '' }],
  ['tool_use', { input: {} }],
]);

export class MessagesMender implements StreamMender {
  before = '';
  private hasBegun = false;
  /** The block that was begun last. */
  private block = -1;
  private told: JsonObject = {};

  constructor(private readonly facts: StreamFacts) {}

  mend(event: JsonObject): readonly Lack[] {
    this.before = '';
    const { type } = event;
    if (typeof type !== 'string' || type === 'error' || type === 'ping') return NOTHING_LACKS;
    const lacks = new Lacks();
    if (type === 'message_start') this.mendStart(event, lacks);
    else {
      if (!this.hasBegun) this.before = this.start();
      if (type === 'message_delta') this.mendEnd(event, lacks);
      else if (type.startsWith('content_block_')) this.mendBlock(event, lacks);
    }
    return lacks.list;
  }

  nameOf({ type }: JsonObject): string | null {
    return typeof type === 'string' ? type : null;
  }

  closes({ type }: JsonObject): boolean {
    return type === 'message_delta';
  }

  usagePlace({ usage }: JsonObject): UsagePlace {
    return { path: [], held: isRecord(usage) ? usage : null, told: this.told };
  }

  usageEvent(): null {
    return null;
  }

  /** The beginning of a stream whose supplier leaves it out. */
  private start(): string {
    const lacks = new Lacks();
    this.mendStart({}, lacks);
    const data = JSON.stringify({ type: 'message_start', ...lacks.list[0]?.members });
    return formatEvent({ event: 'message_start', data });
  }

  private mendStart(event: JsonObject, lacks: Lacks): void {
    const message = isRecord(event.message) ? event.message : {};
    const { usage } = message;
    const members = { ...this.namesLacking(message), ...this.inputLacking(usage) };
    this.hasBegun = true;
    this.told = { ...(isRecord(usage) ? usage : {}), ...(isRecord(members.usage) ? members.usage : {}) };
    if (message === event.message) lacks.add(['message'], message, members);
    else lacks.add([], event, { message: members });
    // Usage that is said in the supplier's place is none of its reports.
    event.message = { ...message, ...members, usage };
  }

  private namesLacking(message: JsonObject): JsonObject {
    const members: JsonObject = {};
    if (isAbsent(message.id)) members.id = messagesId(this.facts.requestId);
    if (isAbsent(message.type)) members.type = 'message';
    if (isAbsent(message.role)) members.role = 'assistant';
    if (message.model === undefined) members.model = this.facts.model;
    if (!Array.isArray(message.content)) members.content = [];
    if (message.stop_reason === undefined) members.stop_reason = null;
    if (message.stop_sequence === undefined) members.stop_sequence = null;
    return members;
  }

  /** Clients show what is said at the beginning, and must not show that nothing was read. */
  private inputLacking(usage: unknown): JsonObject {
    const told = isRecord(usage) ? usage : {};
    const { input_tokens: fresh, cache_read_input_tokens: read, cache_creation_input_tokens: written } = told;
    const isRead = [fresh, read, written].some((count) => typeof count === 'number' && count > 0);
    if (isRead && typeof fresh === 'number' && typeof told.output_tokens === 'number') return {};
    const estimate = Math.max(1, Math.ceil(this.facts.inputTokens));
    const input = isRead ? { input_tokens: fresh ?? 0 } : { input_tokens: estimate };
    return { usage: { ...told, ...input, output_tokens: told.output_tokens ?? 0 } };
  }

  private mendBlock(event: JsonObject, lacks: Lacks): void {
    const { type, index, content_block: block } = event;
    const isStart = type === 'content_block_start';
    if (typeof index === 'number') this.block = index;
    else {
      this.block = isStart ? this.block + 1 : Math.max(0, this.block);
      lacks.add([], event, { index: this.block });
    }
    if (!isStart || !isRecord(block)) return;
    const beginning = Object.entries(BEGINNINGS.get(block.type) ?? {});
    const missing = beginning.filter(([name]) => block[name] === undefined);
    lacks.add(['content_block'], block, Object.fromEntries(missing));
  }

  private mendEnd({ delta, usage }: JsonObject, lacks: Lacks): void {
    if (isRecord(delta) && delta.stop_sequence === undefined)
      lacks.add(['delta'], delta, { stop_sequence: null });
    if (!isRecord(usage)) return;
    const said = Object.entries(usage).filter(([, value]) => value !== null && value !== undefined);
    this.told = { ...this.told, ...Object.fromEntries(said) };
  }
}
