import { type Fault, sseFault, type UsageReading } from '../../kernel';
import { type JsonObject, type SupplierError } from '../canonical';
import { EventWatcher } from '../stream-watcher';
import { isRecord } from '../usage';
import { readMessagesError } from './errors';
import { findMessagesUsage, mergeMessagesUsage, normaliseMessagesUsage } from './usage';

export class MessagesStreamWatcher extends EventWatcher {
  readonly modelPath = ['message', 'model'];
  readonly terminator = 'event: message_stop\ndata: {"type":"message_stop"}\n\n';

  failureEvent(problem: Fault, requestId: string): string {
    return sseFault('messages', problem, requestId);
  }

  protected failureIn(event: JsonObject): SupplierError | undefined {
    const { type } = event;
    return type === 'error' || type === undefined ? readMessagesError(event) : undefined;
  }

  protected read(event: JsonObject): void {
    switch (event.type) {
      case 'message_start':
        this.noteStoredIds(event);
        break;
      case 'content_block_start':
        if (isRecord(event.content_block)) this.readBlock(event.content_block);
        this.noteStoredIds(event);
        break;
      case 'content_block_delta':
        if (isRecord(event.delta)) this.readDelta(event.delta);
        break;
      case 'message_delta':
        this.noteStoredIds(event);
        if (isRecord(event.delta) && typeof event.delta.stop_reason === 'string')
          this.finishReason = event.delta.stop_reason;
        break;
      case 'message_stop':
        this.ended = true;
    }
  }

  protected usageIn(event: JsonObject): unknown {
    return findMessagesUsage(event);
  }

  protected override mergeUsage(earlier: unknown, later: unknown): unknown {
    return mergeMessagesUsage(earlier, later);
  }

  protected normaliseUsage(raw: unknown): UsageReading {
    return normaliseMessagesUsage(raw);
  }

  /** A call starts with the name of the tool; redacted reasoning arrives complete. */
  private readBlock({ type, id, text, thinking, name, input, data }: JsonObject): void {
    if (type === 'tool_use') this.noteCall(id);
    this.countOutput(text);
    this.countOutput(thinking);
    if (type === 'redacted_thinking') {
      this.countOutput(data);
      this.noteSeal(data);
    }
    if (name !== undefined) this.countOutput(name);
    if (isRecord(input) && Object.keys(input).length > 0) this.countOutput(JSON.stringify(input));
  }

  private readDelta({ text, thinking, signature, partial_json: json }: JsonObject): void {
    this.noteSeal(signature);
    this.countOutput(text);
    this.countOutput(thinking);
    this.countOutput(json);
  }
}
