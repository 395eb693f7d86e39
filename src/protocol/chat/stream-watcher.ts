import { type Fault, sseFault, type UsageReading } from '../../kernel';
import { type JsonObject, type SupplierError } from '../canonical';
import { EventWatcher } from '../stream-watcher';
import { isRecord, pick } from '../usage';
import { readChatError } from './errors';
import { findChatUsage, normaliseChatUsage } from './usage';

/** Watches chat completions and the legacy text completions, which differ in where the text is. */
export class ChatStreamWatcher extends EventWatcher {
  readonly modelPath = ['model'];
  readonly terminator = 'data: [DONE]\n\n';
  private readonly openChoices = new Set<unknown>();

  constructor(private readonly hasManyChoices: boolean) {
    super('chat');
  }

  override get finished(): boolean {
    return this.finishReason !== null && this.openChoices.size === 0;
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
      if (pick(choice.delta, 'audio') !== undefined) this.noteStoredIds(chunk);
    }
  }

  protected usageIn(chunk: JsonObject): unknown {
    return findChatUsage(chunk);
  }

  protected normaliseUsage(raw: unknown): UsageReading {
    return normaliseChatUsage(raw);
  }

  private readChoice({ index, delta, message, text, finish_reason: reason }: JsonObject): void {
    const content = delta ?? message;
    if (isRecord(content)) this.readDelta(content);
    this.countOutput(text);
    const isFinished = typeof reason === 'string' && reason !== '';
    if (isFinished) this.finishReason = reason;
    if (!this.hasManyChoices) return;
    if (isFinished) this.openChoices.delete(index);
    else this.openChoices.add(index);
  }

  private readDelta(delta: JsonObject): void {
    const { content, refusal, tool_calls: calls, function_call: call, audio } = delta;
    if (Array.isArray(content)) content.forEach((part) => this.readPart(part));
    else this.countOutput(content);
    this.countOutput(delta.reasoning_content ?? delta.reasoning);
    this.countOutput(refusal);
    if (Array.isArray(calls)) calls.forEach((each) => this.readCall(each));
    if (isRecord(call)) this.readCall({ function: call });
    if (!isRecord(audio)) return;
    this.countOutput(audio.transcript);
    if (typeof audio.data === 'string' && audio.data !== '') this.hasOutput = true;
  }

  /** Some suppliers send content as a list that includes the reasoning. */
  private readPart(part: unknown): void {
    this.countOutput(pick(part, 'text'));
    const thinking = pick(part, 'thinking');
    for (const piece of Array.isArray(thinking) ? thinking : [thinking]) {
      this.countOutput(typeof piece === 'string' ? piece : pick(piece, 'text'));
    }
  }

  private readCall(call: unknown): void {
    this.noteCall(pick(call, 'id'));
    const definition = pick(call, 'function') ?? pick(call, 'custom');
    this.countOutput(pick(definition, 'name'));
    const input = pick(definition, 'arguments') ?? pick(definition, 'input');
    this.countOutput(isRecord(input) ? JSON.stringify(input) : input);
  }
}
