import { type Fault, fault, formatEvent, sseFault, type Usage } from '../../kernel';
import {
  type CanonicalEvent,
  type Dropped,
  type EncoderOptions,
  type Finish,
  type JsonObject,
  MAX_HELD_CHARACTERS,
  type MessageEnd,
  type MessageStart,
  ONLY_OWN_DIALECT,
  type ReasoningSignature,
  signatureFor,
  type StreamEncoder,
  Tally,
  type ToolStart,
  UNSIGNED,
} from '../canonical';
import { BlockQueue, createBlock, type OutgoingBlock } from './block-queue';
import { writeFinish } from './finish';
import { renderMessagesUsage } from './usage';

const typedEvent = (event: JsonObject & { type: string }): string =>
  formatEvent({ event: event.type, data: JSON.stringify(event) });

export const messagesId = (id: string): string => (id.startsWith('msg_') ? id : `msg_${id}`);

/** Usage before the supplier has counted: never zero, which clients would show. */
function startUsage(usage: Usage | undefined, estimate: number | undefined) {
  if (!usage) return { input_tokens: Math.max(1, Math.ceil(estimate ?? 1)), output_tokens: 0 };
  const rendered = renderMessagesUsage(usage) as { input_tokens: number };
  return { ...rendered, input_tokens: Math.max(1, rendered.input_tokens) };
}

export const finalUsage = (usage: Usage | undefined, estimate: number | undefined) =>
  usage
    ? renderMessagesUsage(usage)
    : { input_tokens: Math.max(1, Math.ceil(estimate ?? 1)), output_tokens: 0 };

export class MessagesStreamEncoder implements StreamEncoder {
  ended = false;
  private readonly queue = new BlockQueue();
  private readonly tools = new Map<number, OutgoingBlock>();
  private prose: OutgoingBlock | undefined;
  private unsignedThinking: string | undefined;
  /** Whether the open text block is a refusal, to which only more refusal text can be added. */
  private isInRefusal = false;
  private hasRefusal = false;
  private usage: Usage | undefined;
  private readonly tally = new Tally();

  constructor(private readonly options: EncoderOptions) {}

  get dropped(): readonly Dropped[] {
    return this.tally.list();
  }

  encode(event: CanonicalEvent): string {
    if (this.ended) return '';
    const text = this.write(event);
    if (this.queue.heldCharacters <= (this.options.maxHeldCharacters ?? MAX_HELD_CHARACTERS)) return text;
    return `${text}${this.failInstead(fault('provider_response_too_large'))}`;
  }

  failInstead(failure: Fault): string {
    this.ended = true;
    return sseFault('messages', failure, this.options.requestId);
  }

  private write(event: CanonicalEvent): string {
    switch (event.type) {
      case 'text-delta':
        return this.queue.piece(this.prose!, JSON.stringify(event.text));
      case 'tool-arguments-delta':
        return this.queue.piece(this.tools.get(event.index)!, JSON.stringify(event.text));
      case 'reasoning-delta':
        return this.writeThinking(event.text);
      case 'message-start':
        return this.start(event);
      case 'text-start':
        return `${this.closeProse()}${this.openText()}`;
      case 'text-end':
      case 'reasoning-end':
      case 'reasoning-start':
        return this.closeProse();
      case 'reasoning-signature':
        return this.sign(event);
      case 'refusal':
        return this.refusal(event.text);
      case 'tool-start':
        return `${this.closeProse()}${this.openTool(event)}`;
      case 'tool-end':
        return this.queue.close(this.tools.get(event.index)!);
      case 'citation':
        this.tally.dropped('citation', ONLY_OWN_DIALECT);
        return '';
      case 'usage-update':
        this.usage = event.usage;
        return '';
      case 'message-end':
        return this.end(event);
      case 'fault':
        return this.failInstead(event.fault);
    }
  }

  private start({ id, model, usage }: MessageStart): string {
    this.usage = usage;
    const { options } = this;
    return typedEvent({
      type: 'message_start',
      message: {
        id: messagesId(options.id ?? id),
        type: 'message',
        role: 'assistant',
        model: options.model ?? model,
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: startUsage(usage, options.inputTokens),
      },
    });
  }

  private openText(): string {
    this.prose = createBlock({ type: 'text', text: '' }, '{"type":"text_delta","text":');
    return this.queue.open(this.prose);
  }

  /** Opened by the first visible piece, so that hidden reasoning leaves no empty block. */
  private openThinking(): string {
    if (this.prose) return '';
    const start = { type: 'thinking', thinking: '', signature: '' };
    this.prose = createBlock(start, '{"type":"thinking_delta","thinking":');
    return this.queue.open(this.prose);
  }

  private writeThinking(text: string): string {
    const opened = this.openThinking();
    this.unsignedThinking = (this.unsignedThinking ?? '') + text;
    return `${opened}${this.queue.piece(this.prose!, JSON.stringify(text))}`;
  }

  private sign(event: ReasoningSignature): string {
    const block = { ...event, type: 'reasoning', text: this.unsignedThinking ?? '' } as const;
    const signature = signatureFor(block, 'messages', this.options.lane);
    if (signature === undefined) {
      this.tally.dropped('reasoning.signature', ONLY_OWN_DIALECT);
      return '';
    }
    this.unsignedThinking = undefined;
    if (event.redacted) {
      this.prose = createBlock({ type: 'redacted_thinking', data: signature }, '');
      return this.queue.open(this.prose);
    }
    const opened = this.openThinking();
    return `${opened}${this.queue.sign(this.prose!, JSON.stringify(signature))}`;
  }

  private refusal(text: string): string {
    let opened = '';
    if (!this.isInRefusal) opened = `${this.closeProse()}${this.openText()}`;
    this.isInRefusal = true;
    this.hasRefusal = true;
    return `${opened}${this.queue.piece(this.prose!, JSON.stringify(text))}`;
  }

  private closeProse(): string {
    const { prose, unsignedThinking: thought } = this;
    this.prose = undefined;
    this.unsignedThinking = undefined;
    this.isInRefusal = false;
    if (!prose) return '';
    // A block without a signature would be refused when a client sends it back.
    const mark = thought === undefined ? '' : this.queue.sign(prose, JSON.stringify(UNSIGNED));
    return `${mark}${this.queue.close(prose)}`;
  }

  private openTool({ index, id, name }: ToolStart): string {
    const start = { type: 'tool_use', id, name, input: {} };
    const block = createBlock(start, '{"type":"input_json_delta","partial_json":');
    this.tools.set(index, block);
    return this.queue.open(block);
  }

  private end({ finish, stopSequence }: MessageEnd): string {
    const closed = this.closeProse();
    this.ended = true;
    return `${closed}${this.messageDelta(finish, stopSequence)}${typedEvent({ type: 'message_stop' })}`;
  }

  private messageDelta(finish: Finish, stopSequence: string | undefined): string {
    const usage = this.usage ?? this.options.estimate?.();
    const facts = this.options.facts?.(usage);
    return typedEvent({
      type: 'message_delta',
      delta: { stop_reason: writeFinish(finish, this.hasRefusal), stop_sequence: stopSequence ?? null },
      usage: finalUsage(usage, this.options.inputTokens),
      ...(facts && { svc: facts }),
    });
  }
}
