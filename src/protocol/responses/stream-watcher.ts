import { type Fault, type UsageReading } from '../../kernel';
import { type JsonObject, type SupplierError } from '../canonical';
import { secondsNow } from '../chat/stream-encoder';
import { EventWatcher } from '../stream-watcher';
import { callIdOf } from '../tool-calls';
import { isRecord } from '../usage';
import { envelope, responsesId } from './envelope';
import { readResponsesError } from './errors';
import { failureEvent } from './failure';
import { readFinish } from './finish';
import { findResponsesUsage, normaliseResponsesUsage } from './usage';

/** Maximum output size up to which finished items are kept for a failure event. */
const MAX_KEPT_BYTES = 256 * 1024;

const CLOSING: ReadonlySet<unknown> = new Set(['response.completed', 'response.incomplete']);

const listIn = (value: unknown): JsonObject[] => (Array.isArray(value) ? value.filter(isRecord) : []);

export class ResponsesStreamWatcher extends EventWatcher {
  readonly modelPath = ['response', 'model'];
  readonly terminator = null;
  private sequence = -1;
  private started: { readonly id: string; readonly createdAt: number } | null = null;
  private readonly output: JsonObject[] = [];
  private hasCompleteOutput = false;
  private readonly namedItems = new Set<unknown>();
  private readonly writtenItems = new Set<unknown>();

  failureEvent(problem: Fault, requestId: string, model: string, echo?: JsonObject): string {
    const { id, createdAt } = this.started ?? { id: responsesId(requestId), createdAt: secondsNow() };
    const response = envelope(id, model, createdAt, echo);
    return failureEvent(this.sequence + 1, response, this.output, problem, requestId);
  }

  protected failureIn(event: JsonObject): SupplierError | undefined {
    const { type } = event;
    const isFailure = type === 'error' || type === 'response.failed' || type === undefined;
    return isFailure ? readResponsesError(event) : undefined;
  }

  protected read(event: JsonObject): void {
    const { type, response, item, delta, output_index: index } = event;
    const number = event.sequence_number;
    // The closing event is held back, and a failure replaces it.
    if (typeof number === 'number' && !CLOSING.has(type)) this.sequence = number;
    switch (type) {
      case 'response.created':
      case 'response.in_progress':
        if (isRecord(response)) this.start(response);
        break;
      case 'response.output_item.added':
        if (isRecord(item)) this.readName(index, item);
        break;
      case 'response.output_item.done':
        if (isRecord(item)) this.readItem(index, item);
        this.noteStoredIds(event);
        break;
      case 'response.completed':
      case 'response.incomplete':
        this.noteStoredIds(event);
        this.end(type, response);
        break;
      case 'response.audio.delta':
      case 'response.output_audio.delta':
        this.hasOutput = true;
        break;
      default:
        if (typeof delta !== 'string' || typeof type !== 'string' || !type.endsWith('.delta')) return;
        this.writtenItems.add(index);
        this.countOutput(delta);
    }
  }

  protected usageIn(event: JsonObject): unknown {
    return findResponsesUsage(event);
  }

  protected normaliseUsage(raw: unknown): UsageReading {
    return normaliseResponsesUsage(raw);
  }

  private start({ id, created_at: createdAt }: JsonObject): void {
    if (typeof id !== 'string') return;
    this.started = { id, createdAt: typeof createdAt === 'number' ? createdAt : secondsNow() };
  }

  private end(type: string, response: unknown): void {
    // Some suppliers send the items only with the last event.
    if (!this.hasOutput && isRecord(response))
      listIn(response.output).forEach((item, index) => this.readItem(index, item));
    else if (isRecord(response) && listIn(response.output).length === 0 && this.hasCompleteOutput)
      this.omitted = { path: ['response', 'output'], value: this.output };
    this.finishReason = readFinish(response).raw ?? type.slice('response.'.length);
    this.ended = true;
  }

  private readName(index: unknown, item: JsonObject): void {
    this.namedItems.add(index);
    this.noteCall(callIdOf(item));
    this.countOutput(item.name);
  }

  /** A finished item repeats its pieces; suppliers that send no pieces send all content here. */
  private readItem(index: unknown, item: JsonObject): void {
    if (!this.namedItems.has(index)) this.readName(index, item);
    if (item.type === 'reasoning') this.noteSeal(item.encrypted_content);
    if (!this.writtenItems.has(index)) {
      this.countOutput(item.arguments ?? item.input);
      for (const part of [...listIn(item.content), ...listIn(item.summary)])
        this.countOutput(part.text ?? part.refusal ?? part.transcript);
    }
    this.hasCompleteOutput = this.outputBytes <= MAX_KEPT_BYTES;
    if (this.hasCompleteOutput) this.output.push(item);
  }
}
