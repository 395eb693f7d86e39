import { entryOf, type Fault } from '../../kernel';
import { type JsonObject, supplierFault } from '../canonical';
import { brokenStream, StreamReader } from '../stream-reader';
import { isRecord } from '../usage';
import { readResponsesError } from './errors';
import { readFinish } from './finish';
import { ItemReader } from './read-items';
import { findResponsesUsage, normaliseResponsesUsage } from './usage';

const record = (value: unknown): JsonObject => (isRecord(value) ? value : {});

const REDUNDANT_EVENTS = new Set([
  'response.content_part.added',
  'response.content_part.done',
  'response.output_text.done',
  'response.refusal.done',
  'response.function_call_arguments.done',
  'response.custom_tool_call_input.done',
  'response.reasoning_summary_text.done',
  'response.reasoning_summary_part.done',
  'response.reasoning_text.done',
  'keepalive',
]);

const DELTA_KINDS: Readonly<Record<string, 'text' | 'refusal' | 'reasoning' | 'tool'>> = {
  'response.output_text.delta': 'text',
  'response.refusal.delta': 'refusal',
  'response.function_call_arguments.delta': 'tool',
  'response.custom_tool_call_input.delta': 'tool',
  'response.reasoning_summary_text.delta': 'reasoning',
  'response.reasoning_text.delta': 'reasoning',
};

export class ResponsesStreamDecoder extends StreamReader {
  private readonly items = new ItemReader(this.emission, this.tally);

  protected readEvent(event: JsonObject): void {
    const type = String(event.type);
    const kind = entryOf(DELTA_KINDS, type);
    const index = typeof event.output_index === 'number' ? event.output_index : 0;
    let failure: Fault | undefined;
    if (kind) failure = this.items.addPiece(index, kind, typeof event.delta === 'string' ? event.delta : '');
    else if (type.startsWith('response.output_item.') && !this.emission.started) {
      failure = brokenStream('The stream did not begin with response.created.');
    } else this.readOther(type, index, event);
    if (failure) this.emission.fault(failure);
  }

  private readOther(type: string, index: number, event: JsonObject): void {
    switch (type) {
      case 'response.created':
      case 'response.queued':
      case 'response.in_progress':
        this.start(record(event.response));
        break;
      case 'response.output_item.added':
        this.items.startItem(index, record(event.item));
        break;
      case 'response.output_item.done':
        this.items.finishItem(index, record(event.item));
        break;
      case 'response.reasoning_summary_part.added':
        this.items.summaryPart(index, event.summary_index);
        break;
      case 'response.output_text.annotation.added':
        this.emission.citation('responses', event.annotation);
        break;
      case 'response.completed':
      case 'response.incomplete':
        this.finish(event);
        break;
      case 'error':
      case 'response.failed':
        this.emission.fault(supplierFault(readResponsesError(event)!));
        break;
      default:
        if (!REDUNDANT_EVENTS.has(type)) this.tally.dropped('events', `an event of the type ${type}`);
    }
  }

  private start({ id, model }: JsonObject): void {
    this.emission.start(typeof id === 'string' ? id : '', typeof model === 'string' ? model : '');
  }

  private finish(event: JsonObject): void {
    this.terminated = true;
    this.start(record(event.response));
    this.emission.report(normaliseResponsesUsage(findResponsesUsage(event)));
    this.succeed(readFinish(event.response));
  }
}
