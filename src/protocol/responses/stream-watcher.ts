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

/** Finished items are kept for the event of a failure, until the answer is longer than this. */
const MOST_KEPT = 256 * 1024;

const CLOSING: ReadonlySet<unknown> = new Set(['response.completed', 'response.incomplete']);

const listIn = (value: unknown): JsonObject[] => (Array.isArray(value) ? value.filter(isRecord) : []);

export class ResponsesStreamWatcher extends EventWatcher {
  readonly modelPath = ['response', 'model'];
  readonly terminator = null;
  private sequence = -1;
  private begun: { readonly id: string; readonly createdAt: number } | null = null;
  private readonly output: JsonObject[] = [];
  private isKeptWhole = false;
  /** The name of the first items has been counted, and the text of the second. */
  private readonly named = new Set<unknown>();
  private readonly written = new Set<unknown>();

  failureEvent(problem: Fault, requestId: string, model: string, echo?: JsonObject): string {
    const { id, createdAt } = this.begun ?? { id: responsesId(requestId), createdAt: secondsNow() };
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
    // The last event is kept back: a failure takes its place.
    if (typeof number === 'number' && !CLOSING.has(type)) this.sequence = number;
    switch (type) {
      case 'response.created':
      case 'response.in_progress':
        if (isRecord(response)) this.begin(response);
        break;
      case 'response.output_item.added':
        if (isRecord(item)) this.readName(index, item);
        break;
      case 'response.output_item.done':
        if (isRecord(item)) this.readItem(index, item);
        this.handsOut(event);
        break;
      case 'response.completed':
      case 'response.incomplete':
        this.handsOut(event);
        this.end(type, response);
        break;
      case 'response.audio.delta':
      case 'response.output_audio.delta':
        this.hasOutput = true;
        break;
      default:
        if (typeof delta !== 'string' || typeof type !== 'string' || !type.endsWith('.delta')) return;
        this.written.add(index);
        this.wrote(delta);
    }
  }

  protected usageIn(event: JsonObject): unknown {
    return findResponsesUsage(event);
  }

  protected normaliseUsage(raw: unknown): UsageReading {
    return normaliseResponsesUsage(raw);
  }

  private begin({ id, created_at: createdAt }: JsonObject): void {
    if (typeof id !== 'string') return;
    this.begun = { id, createdAt: typeof createdAt === 'number' ? createdAt : secondsNow() };
  }

  private end(type: string, response: unknown): void {
    // Some suppliers send the items with the last event and not before.
    if (!this.hasOutput && isRecord(response))
      listIn(response.output).forEach((item, index) => this.readItem(index, item));
    else if (isRecord(response) && listIn(response.output).length === 0 && this.isKeptWhole)
      this.omitted = { path: ['response', 'output'], value: this.output };
    this.finishReason = readFinish(response).raw ?? type.slice('response.'.length);
    this.ended = true;
  }

  private readName(index: unknown, item: JsonObject): void {
    this.named.add(index);
    this.called(callIdOf(item));
    this.wrote(item.name);
  }

  /** A finished item repeats its pieces; suppliers that send no pieces send all of it here. */
  private readItem(index: unknown, item: JsonObject): void {
    if (!this.named.has(index)) this.readName(index, item);
    if (item.type === 'reasoning') this.sealed(item.encrypted_content);
    if (!this.written.has(index)) {
      this.wrote(item.arguments ?? item.input);
      for (const part of [...listIn(item.content), ...listIn(item.summary)])
        this.wrote(part.text ?? part.refusal ?? part.transcript);
    }
    this.isKeptWhole = this.outputBytes <= MOST_KEPT;
    if (this.isKeptWhole) this.output.push(item);
  }
}
