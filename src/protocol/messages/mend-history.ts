import {
  type Dropped,
  isReadable,
  type JsonObject,
  type Mended,
  opened,
  type ReadsReasoning,
  Tally,
  type Target,
  ToolIds,
} from '../canonical';
import { isRecord } from '../usage';
import { boundThinking } from './thinking';

const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const text = (value: unknown): string => (typeof value === 'string' ? value : '');

/**
 * A caller's own request is mended where a lane of this dialect would refuse it. Reasoning that the lane did
 * not sign is left out, and calls of other lanes get ids that it takes. Null: there is nothing to mend.
 */
export function mendMessages(body: Readonly<JsonObject>, target: Target): Mended | null {
  const history = new History(target.reads);
  const messages = list(body.messages).flatMap((message, at) => history.message(message, `messages.${at}`));
  const isStuck = isRecord(body.thinking) && body.thinking.type === 'enabled' && lacksThinking(messages);
  if (!history.isChanged && !(isStuck && target.withoutReasoning)) return null;
  // In the middle of a round a model with a budget wants its own signed thinking back.
  if (isStuck) history.tally.dropped('thinking', 'the round of tool calls began without signed thinking');
  const asked = isRecord(body.thinking) ? body.thinking : undefined;
  const isForced = isRecord(body.tool_choice) && /^(any|tool)$/.test(text(body.tool_choice.type));
  const thinking = isStuck ? undefined : boundThinking(asked, target, isForced ? [] : messages);
  const set = thinking === undefined ? { messages } : { messages, thinking };
  return { set, remove: isStuck ? ['thinking'] : [], dropped: history.dropped };
}

/** The turn whose calls are being answered begins with something else than thinking. */
function lacksThinking(messages: readonly unknown[]): boolean {
  const last = messages.findLastIndex((message) => isRecord(message) && message.role === 'assistant');
  const [turn, next] = [messages[last], messages[last + 1]];
  const blocks = isRecord(turn) ? list(turn.content).filter(isRecord) : [];
  const isAnswered =
    isRecord(next) && list(next.content).some((block) => isRecord(block) && block.type === 'tool_result');
  return isAnswered && !/^(redacted_)?thinking$/.test(text(blocks[0]?.type));
}

class History {
  isChanged = false;
  readonly tally = new Tally();
  private readonly ids = new ToolIds();

  constructor(private readonly reads: ReadsReasoning | undefined) {}

  get dropped(): readonly Dropped[] {
    return this.tally.list();
  }

  message(message: unknown, at: string): unknown[] {
    if (!isRecord(message) || !Array.isArray(message.content)) return [message];
    if (message.role === 'assistant') this.ids.beginTurn();
    const before: readonly unknown[] = message.content;
    const content = before.flatMap((block, index) => this.block(block, `${at}.content.${index}`));
    if (content.length === before.length && content.every((block, index) => block === before[index]))
      return [message];
    this.isChanged = true;
    return content.length === 0 ? [] : [{ ...message, content }];
  }

  private block(block: unknown, at: string): unknown[] {
    if (!isRecord(block)) return [block];
    switch (block.type) {
      case 'thinking':
        return this.reasoning(block, 'signature', at);
      case 'redacted_thinking':
        return this.reasoning(block, 'data', at);
      case 'tool_use':
        return [this.named(block, 'id', this.ids.forCall(text(block.id)))];
      case 'tool_result':
        return [this.named(block, 'tool_use_id', this.ids.forResult(text(block.tool_use_id)))];
      default:
        return [block];
    }
  }

  private reasoning(block: JsonObject, field: 'signature' | 'data', at: string): unknown[] {
    const signed = opened(text(block[field]), text(block.thinking), 'messages');
    if (isReadable(signed, 'messages', this.reads)) return [this.named(block, field, signed.signature!)];
    this.tally.dropped(at, 'reasoning without a signature of the target');
    return [];
  }

  private named(block: JsonObject, field: string, value: string): JsonObject {
    return typeof block[field] !== 'string' || block[field] === value ? block : { ...block, [field]: value };
  }
}
