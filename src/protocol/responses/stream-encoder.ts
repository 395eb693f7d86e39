import { type Fault, fault, formatEvent, type Usage } from '../../kernel';
import {
  annotationFor,
  type ResponseBlock,
  type CanonicalEvent,
  type DialectName,
  type Dropped,
  type EncoderOptions,
  type Finish,
  type JsonObject,
  MAX_HELD_CHARACTERS,
  type MessageStart,
  ONLY_OWN_DIALECT,
  type ReasoningSignature,
  signatureFor,
  type StreamEncoder,
  Tally,
  type ToolStart,
} from '../canonical';
import { secondsNow } from '../chat/stream-encoder';
import { failureEvent } from './failure';
import {
  startedItem,
  finishedEnvelope,
  envelope,
  itemId,
  finishedItem,
  refusalPart,
  responsesId,
  textPart,
} from './envelope';

interface OutgoingItem {
  readonly block: ResponseBlock;
  readonly id: string;
  readonly index: number;
  /** Text around the sequence number and the piece of each delta event. */
  readonly head: string;
  readonly middle: string;
  readonly tail: string;
}

const KINDS = {
  text: ['response.output_text', { content_index: 0 }, ',"logprobs":[]}\n\n'],
  refusal: ['response.refusal', { content_index: 0 }, '}\n\n'],
  reasoning: ['response.reasoning_summary_text', { summary_index: 0 }, '}\n\n'],
  tool: ['response.function_call_arguments', {}, '}\n\n'],
  custom: ['response.custom_tool_call_input', {}, '}\n\n'],
} as const;

const kindOf = (block: ResponseBlock): keyof typeof KINDS =>
  block.type === 'tool' && block.custom ? 'custom' : block.type;

/** Writes events as a responses stream. Items are kept until the end, because the closing event repeats them all. */
export class ResponsesStreamEncoder implements StreamEncoder {
  ended = false;
  private sequence = 0;
  private endSequence: number | null = null;
  private heldCharacters = 0;
  private id = '';
  private started: JsonObject | undefined;
  private readonly output: JsonObject[] = [];
  private prose: OutgoingItem | undefined;
  private readonly tools = new Map<number, OutgoingItem>();
  private usage: Usage | undefined;
  private readonly tally = new Tally();

  constructor(private readonly options: EncoderOptions) {}

  get dropped(): readonly Dropped[] {
    return this.tally.list();
  }

  encode(event: CanonicalEvent): string {
    if (this.ended) return '';
    const text = this.write(event);
    if (this.heldCharacters <= (this.options.maxHeldCharacters ?? MAX_HELD_CHARACTERS)) return text;
    return `${text}${this.failInstead(fault('provider_response_too_large'))}`;
  }

  /** The failure event repeats the finished items. */
  failInstead(failure: Fault): string {
    this.ended = true;
    this.sequence = this.endSequence ?? this.sequence;
    const { requestId, model = '', createdAt = secondsNow(), echo } = this.options;
    const response = this.started ?? envelope(responsesId(requestId), model, createdAt, echo);
    const finishedItems = this.output.filter(({ type }) => type !== undefined);
    return failureEvent(this.sequence++, response, finishedItems, failure, requestId);
  }

  private write(event: CanonicalEvent): string {
    switch (event.type) {
      case 'text-delta':
        return this.writePiece(this.prose!, event.text);
      case 'tool-arguments-delta':
        return this.writePiece(this.tools.get(event.index)!, event.text);
      case 'reasoning-delta':
        return this.writeProse('reasoning', event.text);
      case 'refusal':
        return this.writeProse('refusal', event.text);
      case 'message-start':
        return this.start(event);
      case 'text-start':
        return `${this.closeProse()}${this.openProse('text')}`;
      case 'text-end':
      case 'reasoning-start':
      case 'reasoning-end':
        return this.closeProse();
      case 'reasoning-signature':
        return this.sign(event);
      case 'tool-start':
        return `${this.closeProse()}${this.openTool(event)}`;
      case 'tool-end':
        return this.finishItem(this.tools.get(event.index)!);
      case 'citation':
        return this.citation(event.origin, event.value);
      case 'usage-update':
        this.usage = event.usage;
        return '';
      case 'message-end':
        return this.end(event.finish);
      case 'fault':
        return this.failInstead(event.fault);
    }
  }

  private event(type: string, fields: JsonObject): string {
    const data = JSON.stringify({ type, sequence_number: this.sequence++, ...fields });
    return formatEvent({ event: type, data });
  }

  private start({ id, model, usage }: MessageStart): string {
    const { options } = this;
    this.usage = usage;
    this.id = responsesId(options.id ?? id);
    const createdAt = options.createdAt ?? secondsNow();
    this.started = envelope(this.id, options.model ?? model, createdAt, options.echo);
    const created = this.event('response.created', { response: this.started });
    return `${created}${this.event('response.in_progress', { response: this.started })}`;
  }

  private openProse(type: 'text' | 'refusal' | 'reasoning'): string {
    this.prose = this.item({ type, text: '' });
    return this.announceItem(this.prose);
  }

  private openTool({ type: _type, ...start }: ToolStart): string {
    const item = this.item({ type: 'tool', ...start, arguments: '' });
    this.tools.set(start.index, item);
    // Such a call has an object instead of text arguments, so it is sent only when complete.
    return start.item === undefined ? this.announceItem(item) : '';
  }

  private item(block: ResponseBlock): OutgoingItem {
    const index = this.output.push({}) - 1;
    const id = itemId(this.id, block.type, index);
    const [name, position, tail] = KINDS[kindOf(block)];
    const head = `event: ${name}.delta\ndata: {"type":"${name}.delta","sequence_number":`;
    const location = JSON.stringify({ item_id: id, output_index: index, ...position });
    return { block, id, index, head, middle: `,${location.slice(1, -1)},"delta":`, tail };
  }

  private announceItem(item: OutgoingItem): string {
    const { block, id, index } = item;
    const added = this.event('response.output_item.added', {
      output_index: index,
      item: startedItem(finishedItem(block, id)),
    });
    return `${added}${this.part(item, 'added')}`;
  }

  /** Message and reasoning items consist of parts, which are opened and closed by separate events. */
  private part({ block, id, index }: OutgoingItem, state: 'added' | 'done'): string {
    if (block.type === 'tool') return '';
    const position = { item_id: id, output_index: index };
    const text = state === 'done' ? block.text : '';
    if (block.type === 'reasoning') {
      const part = { type: 'summary_text', text };
      return this.event(`response.reasoning_summary_part.${state}`, { ...position, summary_index: 0, part });
    }
    const annotations = block.type === 'text' && state === 'done' ? block.annotations : [];
    const part = block.type === 'text' ? textPart(text, annotations) : refusalPart(text);
    return this.event(`response.content_part.${state}`, { ...position, content_index: 0, part });
  }

  private writePiece(item: OutgoingItem, text: string): string {
    const { block } = item;
    if (block.type === 'tool') block.arguments += text;
    else block.text += text;
    this.heldCharacters += text.length;
    if (block.type === 'tool' && block.item !== undefined) return '';
    return `${item.head}${this.sequence++}${item.middle}${JSON.stringify(text)}${item.tail}`;
  }

  /** Reasoning and refusals are opened by their first visible piece. */
  private writeProse(type: 'reasoning' | 'refusal', text: string): string {
    const opening = this.prose?.block.type === type ? '' : `${this.closeProse()}${this.openProse(type)}`;
    return `${opening}${this.writePiece(this.prose!, text)}`;
  }

  private sign(event: ReasoningSignature): string {
    const text = this.prose?.block.type === 'reasoning' ? this.prose.block.text : '';
    const signature = signatureFor({ ...event, type: 'reasoning', text }, 'responses', this.options.lane);
    if (signature === undefined) {
      this.tally.dropped('reasoning.signature', ONLY_OWN_DIALECT);
      return '';
    }
    let opening = '';
    if (!this.prose) {
      // Hidden reasoning has no part.
      this.prose = this.item({ type: 'reasoning', text: '' });
      const { id, index, block } = this.prose;
      opening = this.event('response.output_item.added', {
        output_index: index,
        item: startedItem(finishedItem(block, id)),
      });
    }
    Object.assign(this.prose.block, { origin: 'responses', signature });
    this.heldCharacters += signature.length;
    return opening;
  }

  private citation(origin: DialectName, value: unknown): string {
    const block = this.prose?.block;
    const isText = block?.type === 'text';
    const annotation =
      isText && annotationFor('responses', origin, value, { start: 0, end: block.text.length });
    if (!isText || !annotation) {
      this.tally.dropped('citation', ONLY_OWN_DIALECT);
      return '';
    }
    block.annotations = [...(block.annotations ?? []), annotation];
    const { id, index } = this.prose!;
    return this.event('response.output_text.annotation.added', {
      item_id: id,
      output_index: index,
      content_index: 0,
      annotation_index: block.annotations.length - 1,
      annotation: annotation,
    });
  }

  private closeProse(): string {
    const { prose } = this;
    this.prose = undefined;
    return prose ? this.finishItem(prose) : '';
  }

  private finishItem(item: OutgoingItem): string {
    const { block, id, index } = item;
    if (block.type === 'tool' && block.item !== undefined) return this.completeCall(item);
    // Clients parse the arguments as JSON, and an empty text is invalid JSON.
    const needsFiller = kindOf(block) === 'tool' && block.type === 'tool' && block.arguments === '';
    const filler = needsFiller ? this.writePiece(item, '{}') : '';
    const finished = finishedItem(block, id);
    this.output[index] = finished;
    const hasPart = block.type === 'tool' || block.text !== '';
    const parts = hasPart ? `${this.textDone(item)}${this.part(item, 'done')}` : '';
    return `${filler}${parts}${this.event('response.output_item.done', { output_index: index, item: finished })}`;
  }

  private completeCall({ block, id, index }: OutgoingItem): string {
    const finished = finishedItem(block, id);
    this.output[index] = finished;
    const added = this.event('response.output_item.added', {
      output_index: index,
      item: { ...finished, status: 'in_progress' },
    });
    return `${added}${this.event('response.output_item.done', { output_index: index, item: finished })}`;
  }

  private textDone({ block, id, index }: OutgoingItem): string {
    const [name, position] = KINDS[kindOf(block)];
    const location = { item_id: id, output_index: index, ...position };
    if (block.type === 'tool') {
      const { name: tool, arguments: text, custom } = block;
      return this.event(`${name}.done`, {
        ...location,
        ...(custom ? { input: text } : { name: tool, arguments: text }),
      });
    }
    if (block.type === 'refusal') return this.event(`${name}.done`, { ...location, refusal: block.text });
    const logprobs = block.type === 'text' ? { logprobs: [] } : {};
    return this.event(`${name}.done`, { ...location, text: block.text, ...logprobs });
  }

  private end(finish: Finish): string {
    this.endSequence = this.sequence;
    const rest = this.closeProse();
    const response = finishedEnvelope(this.started ?? {}, this.output, finish, this.usage, this.options);
    this.ended = true;
    return `${rest}${this.event(`response.${String(response.status)}`, { response })}`;
  }
}
