import { type Fault, fault, formatEvent, type Usage } from '../../kernel';
import {
  annotationFor,
  type AnswerBlock,
  type CanonicalEvent,
  type DialectName,
  type Dropped,
  type EncoderOptions,
  type Finish,
  type JsonObject,
  MAX_HELD,
  type MessageStart,
  ONLY_ITS_OWN,
  type ReasoningSignature,
  signatureFor,
  type StreamEncoder,
  Tally,
  type ToolStart,
} from '../canonical';
import { secondsNow } from '../chat/stream-encoder';
import { failureEvent } from './failure';
import { begun, closed, envelope, itemId, itemOf, refusalPart, responsesId, textPart } from './envelope';

interface OutgoingItem {
  readonly block: AnswerBlock;
  readonly id: string;
  readonly index: number;
  /** This text stands around the sequence number and the piece of each delta. */
  readonly head: string;
  readonly middle: string;
  readonly tail: string;
}

/** The name of each kind's deltas, and the fields that say where they belong. */
const KINDS = {
  text: ['response.output_text', { content_index: 0 }, ',"logprobs":[]}\n\n'],
  refusal: ['response.refusal', { content_index: 0 }, '}\n\n'],
  reasoning: ['response.reasoning_summary_text', { summary_index: 0 }, '}\n\n'],
  tool: ['response.function_call_arguments', {}, '}\n\n'],
  custom: ['response.custom_tool_call_input', {}, '}\n\n'],
} as const;

const kindOf = (block: AnswerBlock): keyof typeof KINDS =>
  block.type === 'tool' && block.custom ? 'custom' : block.type;

/** Writes events as a responses stream. Items are kept until the end: the closing event repeats them all. */
export class ResponsesStreamEncoder implements StreamEncoder {
  ended = false;
  private sequence = 0;
  /** The number of the first event that `message-end` was written as. */
  private endsAt: number | null = null;
  private held = 0;
  private id = '';
  private open: JsonObject | undefined;
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
    if (this.held <= (this.options.maxHeld ?? MAX_HELD)) return text;
    return `${text}${this.failInstead(fault('provider_response_too_large'))}`;
  }

  /** Repeats what is finished of the answer. */
  failInstead(failure: Fault): string {
    this.ended = true;
    this.sequence = this.endsAt ?? this.sequence;
    const { requestId, model = '', createdAt = secondsNow(), echo } = this.options;
    const response = this.open ?? envelope(responsesId(requestId), model, createdAt, echo);
    const finished = this.output.filter(({ type }) => type !== undefined);
    return failureEvent(this.sequence++, response, finished, failure, requestId);
  }

  private write(event: CanonicalEvent): string {
    switch (event.type) {
      case 'text-delta':
        return this.piece(this.prose!, event.text);
      case 'tool-arguments-delta':
        return this.piece(this.tools.get(event.index)!, event.text);
      case 'reasoning-delta':
        return this.say('reasoning', event.text);
      case 'refusal':
        return this.say('refusal', event.text);
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
        return this.done(this.tools.get(event.index)!);
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
    this.open = envelope(this.id, options.model ?? model, createdAt, options.echo);
    const created = this.event('response.created', { response: this.open });
    return `${created}${this.event('response.in_progress', { response: this.open })}`;
  }

  private openProse(type: 'text' | 'refusal' | 'reasoning'): string {
    this.prose = this.item({ type, text: '' });
    return this.added(this.prose);
  }

  private openTool({ type: _type, ...start }: ToolStart): string {
    const item = this.item({ type: 'tool', ...start, arguments: '' });
    this.tools.set(start.index, item);
    // Its arguments are an object of the item, which is shown once it is whole.
    return start.item === undefined ? this.added(item) : '';
  }

  private item(block: AnswerBlock): OutgoingItem {
    const index = this.output.push({}) - 1;
    const id = itemId(this.id, block.type, index);
    const [name, place, tail] = KINDS[kindOf(block)];
    const head = `event: ${name}.delta\ndata: {"type":"${name}.delta","sequence_number":`;
    const where = JSON.stringify({ item_id: id, output_index: index, ...place });
    return { block, id, index, head, middle: `,${where.slice(1, -1)},"delta":`, tail };
  }

  private added(item: OutgoingItem): string {
    const { block, id, index } = item;
    const added = this.event('response.output_item.added', {
      output_index: index,
      item: begun(itemOf(block, id)),
    });
    return `${added}${this.part(item, 'added')}`;
  }

  /** Message and reasoning items have parts, which begin and end too. */
  private part({ block, id, index }: OutgoingItem, state: 'added' | 'done'): string {
    if (block.type === 'tool') return '';
    const place = { item_id: id, output_index: index };
    const text = state === 'done' ? block.text : '';
    if (block.type === 'reasoning') {
      const part = { type: 'summary_text', text };
      return this.event(`response.reasoning_summary_part.${state}`, { ...place, summary_index: 0, part });
    }
    const notes = block.type === 'text' && state === 'done' ? block.annotations : [];
    const part = block.type === 'text' ? textPart(text, notes) : refusalPart(text);
    return this.event(`response.content_part.${state}`, { ...place, content_index: 0, part });
  }

  private piece(item: OutgoingItem, text: string): string {
    const { block } = item;
    if (block.type === 'tool') block.arguments += text;
    else block.text += text;
    this.held += text.length;
    if (block.type === 'tool' && block.item !== undefined) return '';
    return `${item.head}${this.sequence++}${item.middle}${JSON.stringify(text)}${item.tail}`;
  }

  /** Reasoning and refusals open with the first that is shown of them. */
  private say(type: 'reasoning' | 'refusal', text: string): string {
    const opened = this.prose?.block.type === type ? '' : `${this.closeProse()}${this.openProse(type)}`;
    return `${opened}${this.piece(this.prose!, text)}`;
  }

  private sign(signed: ReasoningSignature): string {
    const text = this.prose?.block.type === 'reasoning' ? this.prose.block.text : '';
    const signature = signatureFor({ ...signed, type: 'reasoning', text }, 'responses', this.options.lane);
    if (signature === undefined) {
      this.tally.dropped('reasoning.signature', ONLY_ITS_OWN);
      return '';
    }
    let opened = '';
    if (!this.prose) {
      // Nothing of this reasoning is shown, so it has no part.
      this.prose = this.item({ type: 'reasoning', text: '' });
      const { id, index, block } = this.prose;
      opened = this.event('response.output_item.added', {
        output_index: index,
        item: begun(itemOf(block, id)),
      });
    }
    Object.assign(this.prose.block, { origin: 'responses', signature });
    this.held += signature.length;
    return opened;
  }

  private citation(origin: DialectName, value: unknown): string {
    const block = this.prose?.block;
    const isText = block?.type === 'text';
    const note = isText && annotationFor('responses', origin, value, { start: 0, end: block.text.length });
    if (!isText || !note) {
      this.tally.dropped('citation', ONLY_ITS_OWN);
      return '';
    }
    block.annotations = [...(block.annotations ?? []), note];
    const { id, index } = this.prose!;
    return this.event('response.output_text.annotation.added', {
      item_id: id,
      output_index: index,
      content_index: 0,
      annotation_index: block.annotations.length - 1,
      annotation: note,
    });
  }

  private closeProse(): string {
    const { prose } = this;
    this.prose = undefined;
    return prose ? this.done(prose) : '';
  }

  private done(item: OutgoingItem): string {
    const { block, id, index } = item;
    if (block.type === 'tool' && block.item !== undefined) return this.wholeCall(item);
    // A client parses the arguments as JSON, and nothing is not JSON.
    const filled = kindOf(block) === 'tool' && block.type === 'tool' && block.arguments === '';
    const filler = filled ? this.piece(item, '{}') : '';
    const finished = itemOf(block, id);
    this.output[index] = finished;
    const hasPart = block.type === 'tool' || block.text !== '';
    const parts = hasPart ? `${this.textDone(item)}${this.part(item, 'done')}` : '';
    return `${filler}${parts}${this.event('response.output_item.done', { output_index: index, item: finished })}`;
  }

  private wholeCall({ block, id, index }: OutgoingItem): string {
    const finished = itemOf(block, id);
    this.output[index] = finished;
    const added = this.event('response.output_item.added', {
      output_index: index,
      item: { ...finished, status: 'in_progress' },
    });
    return `${added}${this.event('response.output_item.done', { output_index: index, item: finished })}`;
  }

  private textDone({ block, id, index }: OutgoingItem): string {
    const [name, place] = KINDS[kindOf(block)];
    const where = { item_id: id, output_index: index, ...place };
    if (block.type === 'tool') {
      const { name: tool, arguments: text, custom } = block;
      return this.event(`${name}.done`, {
        ...where,
        ...(custom ? { input: text } : { name: tool, arguments: text }),
      });
    }
    if (block.type === 'refusal') return this.event(`${name}.done`, { ...where, refusal: block.text });
    const logprobs = block.type === 'text' ? { logprobs: [] } : {};
    return this.event(`${name}.done`, { ...where, text: block.text, ...logprobs });
  }

  private end(finish: Finish): string {
    this.endsAt = this.sequence;
    const rest = this.closeProse();
    const response = closed(this.open ?? {}, this.output, finish, this.usage, this.options);
    this.ended = true;
    return `${rest}${this.event(`response.${String(response.status)}`, { response })}`;
  }
}
