import { type Fault, sseFault, type Usage } from '../../kernel';
import {
  annotationFor,
  type CanonicalEvent,
  type DialectName,
  type Dropped,
  type EncoderOptions,
  type JsonObject,
  ONLY_OWN_DIALECT,
  type StreamEncoder,
  type ToolStart,
  Tally,
} from '../canonical';
import { writeFinish } from './finish';
import { renderChatUsage } from './usage';

export const chatId = (id: string): string => (id.startsWith('chatcmpl') ? id : `chatcmpl-${id}`);
export const secondsNow = (): number => Math.floor(Date.now() / 1000);

/** Writes events as chat completion chunks. The constant parts of a chunk are built once per stream. */
export class ChatStreamEncoder implements StreamEncoder {
  ended = false;
  private head = '';
  private tail = ',"logprobs":null,"finish_reason":null}]}\n\n';
  private textHead = '';
  private usage: Usage | undefined;
  private readonly withoutArguments = new Set<number>();
  private readonly custom = new Set<number>();
  private readonly tally = new Tally();
  /** `written` counts the characters sent; `textFrom` is the position at which the current text block started. */
  private written = 0;
  private textFrom = 0;

  constructor(private readonly options: EncoderOptions) {
    // If the usage chunk follows, every other chunk has a null usage.
    if (options.includeUsage) this.tail = ',"logprobs":null,"finish_reason":null}],"usage":null}\n\n';
  }

  get dropped(): readonly Dropped[] {
    return this.tally.list();
  }

  encode(event: CanonicalEvent): string {
    if (this.ended) return '';
    switch (event.type) {
      case 'text-delta':
        this.written += event.text.length;
        return `${this.textHead}${JSON.stringify(event.text)}}${this.tail}`;
      case 'tool-arguments-delta':
        this.withoutArguments.delete(event.index);
        return this.argumentsDelta(event.index, event.text);
      case 'reasoning-delta':
        return this.delta(`{"reasoning_content":${JSON.stringify(event.text)}}`);
      case 'refusal':
        return this.delta(`{"refusal":${JSON.stringify(event.text)}}`);
      case 'message-start':
        this.usage = event.usage;
        return this.start(event.id, event.model);
      case 'tool-start':
        (event.custom ? this.custom : this.withoutArguments).add(event.index);
        return this.toolStart(event);
      case 'tool-end':
        // Clients parse the arguments as JSON, and an empty text is invalid JSON.
        return this.withoutArguments.delete(event.index) ? this.argumentsDelta(event.index, '{}') : '';
      case 'usage-update':
        this.usage = event.usage;
        return '';
      case 'reasoning-signature':
        this.tally.dropped('reasoning.signature', ONLY_OWN_DIALECT);
        return '';
      case 'citation':
        return this.citation(event.origin, event.value);
      case 'message-end':
        this.ended = true;
        return this.finish(writeFinish(event.finish));
      case 'fault':
        return this.failInstead(event.fault);
      case 'text-start':
        this.textFrom = this.written;
        return '';
      case 'text-end':
      case 'reasoning-start':
      case 'reasoning-end':
        return '';
    }
  }

  failInstead(failure: Fault): string {
    this.ended = true;
    return sseFault('chat', failure, this.options.requestId);
  }

  private start(id: string, model: string): string {
    const { options } = this;
    const fields = JSON.stringify({
      id: chatId(options.id ?? id),
      object: 'chat.completion.chunk',
      created: options.createdAt ?? secondsNow(),
      model: options.model ?? model,
    });
    this.head = `data: ${fields.slice(0, -1)},"choices":[`;
    this.textHead = `${this.head}{"index":0,"delta":{"content":`;
    return this.delta('{"role":"assistant","content":""}');
  }

  private delta(delta: string): string {
    return `${this.head}{"index":0,"delta":${delta}${this.tail}`;
  }

  private citation(origin: DialectName, value: unknown): string {
    const annotation = annotationFor('chat', origin, value, { start: this.textFrom, end: this.written });
    if (annotation !== null) return this.delta(JSON.stringify({ annotations: [annotation] }));
    this.tally.dropped('citation', ONLY_OWN_DIALECT);
    return '';
  }

  private argumentsDelta(index: number, text: string): string {
    const [kind, field] = this.custom.has(index) ? ['custom', 'input'] : ['function', 'arguments'];
    return this.delta(`{"tool_calls":[{"index":${index},"${kind}":{"${field}":${JSON.stringify(text)}}}]}`);
  }

  private toolStart({ index, id, name, custom }: ToolStart): string {
    const call = custom
      ? { index, id, type: 'custom', custom: { name, input: '' } }
      : { index, id, type: 'function', function: { name, arguments: '' } };
    return this.delta(JSON.stringify({ tool_calls: [call] }));
  }

  private finish(reason: string): string {
    const { includeUsage, alwaysSendsSvc: tellsFacts } = this.options;
    const added = includeUsage ? ',"usage":null' : tellsFacts ? this.factsMember() : '';
    const end = `${this.head}{"index":0,"delta":{},"logprobs":null,"finish_reason":"${reason}"}]${added}}\n\n`;
    return `${end}${this.usageChunk()}data: [DONE]\n\n`;
  }

  private factsMember(): string {
    const facts = this.options.facts?.(this.currentUsage());
    return facts === undefined ? '' : `,"svc":${JSON.stringify(facts)}`;
  }

  private currentUsage(): Usage | undefined {
    return this.usage ?? this.options.estimate?.();
  }

  private usageChunk(): string {
    if (!this.options.includeUsage) return '';
    const usage = this.currentUsage();
    const closing: JsonObject = { usage: usage ? renderChatUsage(usage) : null };
    const facts = this.options.facts?.(usage);
    if (facts) closing.svc = facts;
    return `${this.head}],${JSON.stringify(closing).slice(1)}\n\n`;
  }
}
