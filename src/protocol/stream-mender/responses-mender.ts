import { formatEvent } from '../../kernel';
import { type JsonObject } from '../canonical';
import { secondsNow } from '../chat/stream-encoder';
import { envelope, fieldsLacking, responsesId } from '../responses/envelope';
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

/** The events that carry the response, and its status in each. */
const STATUS: ReadonlyMap<string, string> = new Map([
  ['response.created', 'in_progress'],
  ['response.queued', 'queued'],
  ['response.in_progress', 'in_progress'],
  ['response.completed', 'completed'],
  ['response.incomplete', 'incomplete'],
]);

/** Events of a part of an item: SDKs add their pieces to it. */
const OF_A_PART = /^response\.(?:content_part|output_text|refusal|reasoning_text)\./;
const OF_AN_ITEM =
  /^response\.(?:output_item|content_part|output_text|refusal|reasoning_text|reasoning_summary_part|reasoning_summary_text|function_call_arguments|custom_tool_call_input)\./;

export class ResponsesMender implements StreamMender {
  before = '';
  private hasBegun = false;
  private sequence = -1;
  private id: string | null = null;
  private createdAt: number | null = null;
  /** The item that was begun last, and the ids of all. */
  private item = -1;
  private readonly ids = new Map<number, unknown>();

  constructor(private readonly facts: StreamFacts) {}

  mend(event: JsonObject): readonly Lack[] {
    this.before = '';
    const { type, sequence_number: number } = event;
    if (this.isWholePiece(event)) return NOTHING_LACKS;
    if (typeof type !== 'string' || type === 'error' || type === 'response.failed') return NOTHING_LACKS;
    const status = STATUS.get(type);
    if (status === undefined && !this.hasBegun && type.startsWith('response.')) this.begin(number);
    const lacks = new Lacks();
    const members: JsonObject = {};
    if (typeof number === 'number') this.sequence = number;
    else members.sequence_number = this.sequence += 1;
    if (status !== undefined) this.mendResponse(event, status, lacks);
    else if (OF_AN_ITEM.test(type)) Object.assign(members, this.placeLacking(type, event));
    lacks.add([], event, members);
    return lacks.list;
  }

  nameOf({ type }: JsonObject): string | null {
    return typeof type === 'string' ? type : null;
  }

  closes({ type }: JsonObject): boolean {
    return type === 'response.completed' || type === 'response.incomplete';
  }

  usagePlace({ response }: JsonObject): UsagePlace {
    const usage = isRecord(response) ? response.usage : undefined;
    const held = isRecord(usage) ? usage : null;
    return { path: ['response'], held, told: held };
  }

  usageEvent(): null {
    return null;
  }

  /** Nearly every event is one, so that it is looked at no further. */
  private isWholePiece({
    sequence_number: number,
    output_index: index,
    item_id: id,
    content_index: part,
  }: JsonObject) {
    const isWhole =
      typeof number === 'number' &&
      typeof index === 'number' &&
      typeof part === 'number' &&
      typeof id === 'string' &&
      this.hasBegun;
    if (!isWhole) return false;
    this.sequence = number;
    this.item = index;
    return true;
  }

  /** The beginning of a stream whose supplier leaves it out. */
  private begin(number: unknown): void {
    this.hasBegun = true;
    this.sequence = typeof number === 'number' ? number - 1 : 0;
    const { id, created_at: createdAt } = this.names();
    const response = envelope(id, this.facts.model, createdAt, this.facts.request ?? this.facts.echo);
    const data = JSON.stringify({ type: 'response.created', sequence_number: this.sequence, response });
    this.before = formatEvent({ event: 'response.created', data });
  }

  private names(): { readonly id: string; readonly created_at: number } {
    this.id ??= responsesId(this.facts.requestId);
    this.createdAt ??= secondsNow();
    return { id: this.id, created_at: this.createdAt };
  }

  private mendResponse(event: JsonObject, status: string, lacks: Lacks): void {
    const response = isRecord(event.response) ? event.response : {};
    const { id, created_at: createdAt } = response;
    if (typeof id === 'string' && id !== '') this.id ??= id;
    if (typeof createdAt === 'number') this.createdAt ??= createdAt;
    this.hasBegun = true;
    const names = this.names();
    const members: JsonObject = {};
    if (isAbsent(id)) members.id = names.id;
    if (isAbsent(response.object)) members.object = 'response';
    if (typeof createdAt !== 'number') members.created_at = names.created_at;
    if (isAbsent(response.status)) members.status = status;
    if (response.model === undefined) members.model = this.facts.model;
    if (!Array.isArray(response.output)) members.output = [];
    const { request } = this.facts;
    if (request !== null) Object.assign(members, fieldsLacking(response, response.status ?? status, request));
    for (const [name, value] of Object.entries(this.facts.echo))
      if (response[name] !== value) members[name] = value;
    if (response !== event.response) return lacks.add([], event, { response: members });
    lacks.add(['response'], response, members);
  }

  private placeLacking(type: string, event: JsonObject): JsonObject {
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
    if (typeof event.content_index !== 'number' && OF_A_PART.test(type)) members.content_index = 0;
    return members;
  }
}
