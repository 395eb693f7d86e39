import { formatEvent } from '../../kernel';
import { type JsonObject } from '../canonical';
import { secondsNow } from '../chat/stream-encoder';
import { envelope, missingResponseFields, responsesId } from '../responses/envelope';
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

const STATUS: ReadonlyMap<string, string> = new Map([
  ['response.created', 'in_progress'],
  ['response.queued', 'queued'],
  ['response.in_progress', 'in_progress'],
  ['response.completed', 'completed'],
  ['response.incomplete', 'incomplete'],
]);

/** Events of a part of an item, to which SDKs add the pieces. */
const PART_EVENT = /^response\.(?:content_part|output_text|refusal|reasoning_text)\./;
const ITEM_EVENT =
  /^response\.(?:output_item|content_part|output_text|refusal|reasoning_text|reasoning_summary_part|reasoning_summary_text|function_call_arguments|custom_tool_call_input)\./;

export class ResponsesStreamNormalizer implements StreamNormalizer {
  preceding = '';
  private hasStarted = false;
  private sequence = -1;
  private id: string | null = null;
  private createdAt: number | null = null;
  private item = -1;
  private readonly ids = new Map<number, unknown>();

  constructor(private readonly context: StreamContext) {}

  normalise(event: JsonObject): readonly EventAddition[] {
    this.preceding = '';
    const { type, sequence_number: number } = event;
    if (this.isCompletePiece(event)) return NO_ADDITIONS;
    if (typeof type !== 'string' || type === 'error' || type === 'response.failed') return NO_ADDITIONS;
    const status = STATUS.get(type);
    if (status === undefined && !this.hasStarted && type.startsWith('response.')) this.start(number);
    const additions = new EventAdditions();
    const members: JsonObject = {};
    if (typeof number === 'number') this.sequence = number;
    else members.sequence_number = this.sequence += 1;
    if (status !== undefined) this.normaliseResponse(event, status, additions);
    else if (ITEM_EVENT.test(type)) Object.assign(members, this.missingPosition(type, event));
    additions.add([], event, members);
    return additions.list;
  }

  eventName({ type }: JsonObject): string | null {
    return typeof type === 'string' ? type : null;
  }

  isFinal({ type }: JsonObject): boolean {
    return type === 'response.completed' || type === 'response.incomplete';
  }

  usageLocation({ response }: JsonObject): UsageLocation {
    const usage = isRecord(response) ? response.usage : undefined;
    const held = isRecord(usage) ? usage : null;
    return { path: ['response'], reported: held, received: held };
  }

  usageEvent(): null {
    return null;
  }

  /** Fast path: nearly every event is complete. */
  private isCompletePiece({
    sequence_number: number,
    output_index: index,
    item_id: id,
    content_index: part,
  }: JsonObject) {
    const isComplete =
      typeof number === 'number' &&
      typeof index === 'number' &&
      typeof part === 'number' &&
      typeof id === 'string' &&
      this.hasStarted;
    if (!isComplete) return false;
    this.sequence = number;
    this.item = index;
    return true;
  }

  /** Adds a `response.created` for suppliers that omit it. */
  private start(number: unknown): void {
    this.hasStarted = true;
    this.sequence = typeof number === 'number' ? number - 1 : 0;
    const { id, created_at: createdAt } = this.identity();
    const response = envelope(id, this.context.model, createdAt, this.context.request ?? this.context.echo);
    const data = JSON.stringify({ type: 'response.created', sequence_number: this.sequence, response });
    this.preceding = formatEvent({ event: 'response.created', data });
  }

  private identity(): { readonly id: string; readonly created_at: number } {
    this.id ??= responsesId(this.context.requestId);
    this.createdAt ??= secondsNow();
    return { id: this.id, created_at: this.createdAt };
  }

  private normaliseResponse(event: JsonObject, status: string, additions: EventAdditions): void {
    const response = isRecord(event.response) ? event.response : {};
    const { id, created_at: createdAt } = response;
    if (typeof id === 'string' && id !== '') this.id ??= id;
    if (typeof createdAt === 'number') this.createdAt ??= createdAt;
    this.hasStarted = true;
    const identity = this.identity();
    const members: JsonObject = {};
    if (isAbsent(id)) members.id = identity.id;
    if (isAbsent(response.object)) members.object = 'response';
    if (typeof createdAt !== 'number') members.created_at = identity.created_at;
    if (isAbsent(response.status)) members.status = status;
    if (response.model === undefined) members.model = this.context.model;
    if (!Array.isArray(response.output)) members.output = [];
    const { request } = this.context;
    if (request !== null)
      Object.assign(members, missingResponseFields(response, response.status ?? status, request));
    for (const [name, value] of Object.entries(this.context.echo))
      if (response[name] !== value) members[name] = value;
    if (response !== event.response) return additions.add([], event, { response: members });
    additions.add(['response'], response, members);
  }

  private missingPosition(type: string, event: JsonObject): JsonObject {
    const members: JsonObject = {};
    const isAdded = type === 'response.output_item.added';
    const { output_index: index, item } = event;
    if (typeof index === 'number') this.item = index;
    else {
      this.item = isAdded ? this.item + 1 : Math.max(0, this.item);
      members.output_index = this.item;
    }
    if (isRecord(item)) {
      if (!isAbsent(item.id)) this.ids.set(this.item, item.id);
      return members;
    }
    if (isAbsent(event.item_id) && this.ids.has(this.item)) members.item_id = this.ids.get(this.item);
    if (typeof event.content_index !== 'number' && PART_EVENT.test(type)) members.content_index = 0;
    return members;
  }
}
