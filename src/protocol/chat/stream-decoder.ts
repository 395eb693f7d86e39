import { fault } from '../../kernel';
import { type JsonObject, supplierFault } from '../canonical';
import { brokenStream, StreamReader } from '../stream-reader';
import { isRecord, pick } from '../usage';
import { readChatError } from './errors';
import { isFailure, readFinish } from './finish';
import { ChoiceReader } from './read-choice';
import { chatWrittenFields } from './written-fields';
import { findChatUsage, normaliseChatUsage } from './usage';

export class ChatStreamDecoder extends StreamReader {
  protected override readonly written = chatWrittenFields;
  private readonly choice = new ChoiceReader(this.emission, this.tally);
  private finish: string | undefined;

  protected override holdsWritten({ choices }: JsonObject): boolean {
    const calls = (choice: unknown): unknown => pick(choice, 'delta', 'tool_calls');
    const isObject = (call: unknown): boolean => isRecord(pick(call, 'function', 'arguments'));
    return (
      Array.isArray(choices) && choices.map(calls).some((list) => Array.isArray(list) && list.some(isObject))
    );
  }

  protected readEvent(chunk: JsonObject): void {
    const error = chunk.error === undefined && chunk.choices !== undefined ? undefined : readChatError(chunk);
    if (error) return this.emission.fault(supplierFault(error));
    if (Array.isArray(chunk.choices)) for (const choice of chunk.choices) this.readChoice(chunk, choice);
    const usage = findChatUsage(chunk);
    if (usage !== undefined && usage !== null) {
      this.start(chunk);
      this.emission.report(normaliseChatUsage(usage));
    }
  }

  protected override readTerminator(text: string): boolean {
    if (text !== '[DONE]') return false;
    this.terminated = true;
    if (this.finish !== undefined) this.succeed(readFinish(this.finish));
    else if (!this.emission.started) this.emission.fault(fault('empty_response'));
    else this.emission.fault(brokenStream('The stream ended without a reason to stop.'));
    return true;
  }

  /** Some suppliers send a finish reason and then close the connection without a terminator. */
  protected override endWithoutTerminator(): boolean {
    if (this.finish === undefined) return false;
    this.succeed(readFinish(this.finish));
    return true;
  }

  private readChoice(chunk: JsonObject, choice: unknown): void {
    if (!isRecord(choice)) return;
    if (typeof choice.index === 'number' && choice.index > 0) {
      return this.tally.dropped(`choices.${choice.index}`, 'one answer is asked for');
    }
    this.start(chunk);
    const delta = choice.delta ?? choice.message;
    const failure = isRecord(delta) ? this.choice.read(delta) : undefined;
    if (failure) return this.emission.fault(failure);
    if (isFailure(choice.finish_reason)) return this.emission.fault(fault('upstream_error'));
    if (typeof choice.finish_reason === 'string' && choice.finish_reason !== '')
      this.finish = choice.finish_reason;
  }

  private start({ id, model }: JsonObject): void {
    if (this.emission.started) return;
    this.emission.start(typeof id === 'string' ? id : '', typeof model === 'string' ? model : '');
  }
}
