import { type Fault, sseFault, type UsageReading } from '../../kernel';
import { type JsonObject, type SupplierError } from '../canonical';
import { EventWatcher } from '../stream-watcher';
import { isRecord, pick } from '../usage';
import { readChatError } from './errors';
import { findChatUsage, normaliseChatUsage } from './usage';

/** Watches chat completions, and the older text completions, which differ in where the text stands. */
export class ChatStreamWatcher extends EventWatcher {
  readonly modelPath = ['model'];
  readonly terminator = 'data: [DONE]\n\n';
  /** They are the answers of several in one stream that have begun and not finished. */
  private readonly open = new Set<unknown>();

  constructor(private readonly hasManyAnswers: boolean) {
    super('chat');
  }

  override get finished(): boolean {
    return this.finishReason !== null && this.open.size === 0;
  }

  override watchText(text: string): boolean {
    this.ended ||= text === '[DONE]';
    return this.ended;
  }

  failureEvent(problem: Fault, requestId: string): string {
    return sseFault('chat', problem, requestId);
  }

  protected failureIn(chunk: JsonObject): SupplierError | undefined {
    return chunk.error === undefined && chunk.choices !== undefined ? undefined : readChatError(chunk);
  }

  protected read(chunk: JsonObject): void {
    const list: readonly unknown[] = Array.isArray(chunk.choices) ? chunk.choices : [];
    this.isBare = list.length === 0;
    for (const choice of list) {
      if (!isRecord(choice)) continue;
      this.readChoice(choice);
      if (pick(choice.delta, 'audio') !== undefined) this.handsOut(chunk);
    }
  }

  protected usageIn(chunk: JsonObject): unknown {
    return findChatUsage(chunk);
  }

  protected normaliseUsage(raw: unknown): UsageReading {
    return normaliseChatUsage(raw);
  }

  private readChoice({ index, delta, message, text, finish_reason: reason }: JsonObject): void {
    const said = delta ?? message;
    if (isRecord(said)) this.readDelta(said);
    this.wrote(text);
    const isFinished = typeof reason === 'string' && reason !== '';
    if (isFinished) this.finishReason = reason;
    if (!this.hasManyAnswers) return;
    if (isFinished) this.open.delete(index);
    else this.open.add(index);
  }

  private readDelta(delta: JsonObject): void {
    const { content, refusal, tool_calls: calls, function_call: call, audio } = delta;
    if (Array.isArray(content)) content.forEach((part) => this.readPart(part));
    else this.wrote(content);
    this.wrote(delta.reasoning_content ?? delta.reasoning);
    this.wrote(refusal);
    if (Array.isArray(calls)) calls.forEach((each) => this.readCall(each));
    if (isRecord(call)) this.readCall({ function: call });
    if (!isRecord(audio)) return;
    this.wrote(audio.transcript);
    if (typeof audio.data === 'string' && audio.data !== '') this.hasOutput = true;
  }

  /** Some suppliers send content as a list, with the reasoning inside it. */
  private readPart(part: unknown): void {
    this.wrote(pick(part, 'text'));
    const thinking = pick(part, 'thinking');
    for (const piece of Array.isArray(thinking) ? thinking : [thinking]) {
      this.wrote(typeof piece === 'string' ? piece : pick(piece, 'text'));
    }
  }

  private readCall(call: unknown): void {
    this.called(pick(call, 'id'));
    const called = pick(call, 'function') ?? pick(call, 'custom');
    this.wrote(pick(called, 'name'));
    const given = pick(called, 'arguments') ?? pick(called, 'input');
    this.wrote(isRecord(given) ? JSON.stringify(given) : given);
  }
}
