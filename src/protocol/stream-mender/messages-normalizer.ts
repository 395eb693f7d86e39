import { formatEvent } from '../../kernel';
import { type JsonObject } from '../canonical';
import { messagesId } from '../messages/stream-encoder';
import { isRecord } from '../usage';
import {
  isAbsent,
  EventAdditions,
  NO_ADDITIONS,
  type EventAddition,
  type StreamContext,
  type StreamNormalizer,
  type UsageLocation,
} from './stream-normalizer';

/** Initial content of blocks, to which their pieces are added. */
const INITIAL_CONTENT: ReadonlyMap<unknown, JsonObject> = new Map<unknown, JsonObject>([
  ['text', { text: '' }],
  ['thinking', { thinking: '' }],
  ['tool_use', { input: {} }],
]);

export class MessagesStreamNormalizer implements StreamNormalizer {
  preceding = '';
  private hasStarted = false;
  private block = -1;
  private receivedUsage: JsonObject = {};

  constructor(private readonly context: StreamContext) {}

  normalise(event: JsonObject): readonly EventAddition[] {
    this.preceding = '';
    const { type } = event;
    if (typeof type !== 'string' || type === 'error' || type === 'ping') return NO_ADDITIONS;
    const additions = new EventAdditions();
    if (type === 'message_start') this.normaliseStart(event, additions);
    else {
      if (!this.hasStarted) this.preceding = this.start();
      if (type === 'message_delta') this.normaliseEnd(event, additions);
      else if (type.startsWith('content_block_')) this.normaliseBlock(event, additions);
    }
    return additions.list;
  }

  eventName({ type }: JsonObject): string | null {
    return typeof type === 'string' ? type : null;
  }

  isFinal({ type }: JsonObject): boolean {
    return type === 'message_delta';
  }

  usageLocation({ usage }: JsonObject): UsageLocation {
    return { path: [], reported: isRecord(usage) ? usage : null, received: this.receivedUsage };
  }

  usageEvent(): null {
    return null;
  }

  /** A `message_start` for suppliers that omit it. */
  private start(): string {
    const additions = new EventAdditions();
    this.normaliseStart({}, additions);
    const data = JSON.stringify({ type: 'message_start', ...additions.list[0]?.members });
    return formatEvent({ event: 'message_start', data });
  }

  private normaliseStart(event: JsonObject, additions: EventAdditions): void {
    const message = isRecord(event.message) ? event.message : {};
    const { usage } = message;
    const members = { ...this.missingFields(message), ...this.missingInput(usage) };
    this.hasStarted = true;
    this.receivedUsage = {
      ...(isRecord(usage) ? usage : {}),
      ...(isRecord(members.usage) ? members.usage : {}),
    };
    if (message === event.message) additions.add(['message'], message, members);
    else additions.add([], event, { message: members });
    // Usage added by the gateway is not a report of the supplier.
    event.message = { ...message, ...members, usage };
  }

  private missingFields(message: JsonObject): JsonObject {
    const members: JsonObject = {};
    if (isAbsent(message.id)) members.id = messagesId(this.context.requestId);
    if (isAbsent(message.type)) members.type = 'message';
    if (isAbsent(message.role)) members.role = 'assistant';
    if (message.model === undefined) members.model = this.context.model;
    if (!Array.isArray(message.content)) members.content = [];
    if (message.stop_reason === undefined) members.stop_reason = null;
    if (message.stop_sequence === undefined) members.stop_sequence = null;
    return members;
  }

  /** Clients show the initial usage, which must not be zero. */
  private missingInput(usage: unknown): JsonObject {
    const reported = isRecord(usage) ? usage : {};
    const {
      input_tokens: fresh,
      cache_read_input_tokens: read,
      cache_creation_input_tokens: written,
    } = reported;
    const isRead = [fresh, read, written].some((count) => typeof count === 'number' && count > 0);
    if (isRead && typeof fresh === 'number' && typeof reported.output_tokens === 'number') return {};
    const estimate = Math.max(1, Math.ceil(this.context.inputTokens));
    const input = isRead ? { input_tokens: fresh ?? 0 } : { input_tokens: estimate };
    return { usage: { ...reported, ...input, output_tokens: reported.output_tokens ?? 0 } };
  }

  private normaliseBlock(event: JsonObject, additions: EventAdditions): void {
    const { type, index, content_block: block } = event;
    const isStart = type === 'content_block_start';
    if (typeof index === 'number') this.block = index;
    else {
      this.block = isStart ? this.block + 1 : Math.max(0, this.block);
      additions.add([], event, { index: this.block });
    }
    if (!isStart || !isRecord(block)) return;
    const initial = Object.entries(INITIAL_CONTENT.get(block.type) ?? {});
    const missing = initial.filter(([name]) => block[name] === undefined);
    additions.add(['content_block'], block, Object.fromEntries(missing));
  }

  private normaliseEnd({ delta, usage }: JsonObject, additions: EventAdditions): void {
    if (isRecord(delta) && delta.stop_sequence === undefined)
      additions.add(['delta'], delta, { stop_sequence: null });
    if (!isRecord(usage)) return;
    const present = Object.entries(usage).filter(([, value]) => value !== null && value !== undefined);
    this.receivedUsage = { ...this.receivedUsage, ...Object.fromEntries(present) };
  }
}
