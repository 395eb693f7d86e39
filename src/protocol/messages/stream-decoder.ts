import { type JsonObject, supplierFault } from '../canonical';
import { brokenStream, StreamReader } from '../stream-reader';
import { isRecord } from '../usage';
import { readMessagesError } from './errors';
import { readFinish } from './finish';
import { BlockReader } from './read-blocks';
import { messagesWrittenFields } from './written-fields';
import { findMessagesUsage, mergeMessagesUsage, normaliseMessagesUsage } from './usage';

const record = (value: unknown): JsonObject => (isRecord(value) ? value : {});

export class MessagesStreamDecoder extends StreamReader {
  protected override readonly written = messagesWrittenFields;
  private readonly blocks = new BlockReader(this.emission, this.tally);
  private rawUsage: unknown;
  private stopReason: string | undefined;
  private stopSequence: string | undefined;

  /** Some suppliers send the arguments with the call. */
  protected override holdsWritten({ type }: JsonObject): boolean {
    return type === 'content_block_start';
  }

  protected readEvent(event: JsonObject): void {
    const { type } = event;
    if (type === 'error') return this.emission.fault(supplierFault(readMessagesError(event)!));
    if (type === 'ping') return;
    if (type === 'message_start') return this.start(event);
    if (!this.emission.started) return this.broken('The stream did not begin with message_start.');
    const index = typeof event.index === 'number' ? event.index : 0;
    let failure;
    switch (type) {
      case 'content_block_start':
        this.blocks.start(index, record(event.content_block));
        break;
      case 'content_block_delta':
        failure = this.blocks.delta(index, record(event.delta));
        break;
      case 'content_block_stop':
        failure = this.blocks.stop(index);
        break;
      case 'message_delta':
        this.messageDelta(event);
        break;
      case 'message_stop':
        this.stop();
        break;
      default:
        this.tally.dropped('events', `an event of the type ${String(type)}`);
    }
    if (failure) this.emission.fault(failure);
  }

  private start(event: JsonObject): void {
    const { id, model } = record(event.message);
    this.rawUsage = findMessagesUsage(event);
    const reading = normaliseMessagesUsage(this.rawUsage);
    const startUsage = reading.kind === 'ok' ? reading.usage : undefined;
    this.emission.start(typeof id === 'string' ? id : '', typeof model === 'string' ? model : '', startUsage);
  }

  private messageDelta(event: JsonObject): void {
    const delta = record(event.delta);
    if (typeof delta.stop_reason === 'string') this.stopReason = delta.stop_reason;
    if (typeof delta.stop_sequence === 'string') this.stopSequence = delta.stop_sequence;
    this.rawUsage = mergeMessagesUsage(this.rawUsage, event.usage);
    this.emission.report(normaliseMessagesUsage(this.rawUsage));
  }

  private stop(): void {
    this.terminated = true;
    if (this.stopReason === undefined) return this.broken('The stream ended without a stop reason.');
    this.succeed(readFinish(this.stopReason), this.stopSequence);
  }

  private broken(message: string): void {
    this.emission.fault(brokenStream(message));
  }
}
