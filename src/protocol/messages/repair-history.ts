import {
  type Dropped,
  isReadable,
  type JsonObject,
  type RequestRepair,
  unsealReasoning,
  type ReasoningPredicate,
  Tally,
  type EncodingTarget,
  ToolIds,
} from '../canonical';
import { isRecord } from '../usage';
import { withBlockBinding } from './thinking';

const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const text = (value: unknown): string => (typeof value === 'string' ? value : '');

/**
 * Repairs a request that a lane of the caller's own dialect would refuse: drops reasoning not signed by the lane and
 * maps ids of other lanes' calls. Null if nothing changes.
 */
export function repairMessagesRequest(
  body: Readonly<JsonObject>,
  target: EncodingTarget,
): RequestRepair | null {
  const history = new HistoryRepair(target.reads);
  const messages = list(body.messages).flatMap((message, at) => history.message(message, `messages.${at}`));
  const isMissingThinking =
    isRecord(body.thinking) && body.thinking.type === 'enabled' && lacksThinking(messages);
  if (!history.isChanged && !(isMissingThinking && target.withoutReasoning)) return null;
  // During a round of tool calls, a model with a thinking budget requires its own signed thinking.
  if (isMissingThinking)
    history.tally.dropped('thinking', 'the round of tool calls began without signed thinking');
  const requested = isRecord(body.thinking) ? body.thinking : undefined;
  const isForced = isRecord(body.tool_choice) && /^(any|tool)$/.test(text(body.tool_choice.type));
  const thinking = isMissingThinking
    ? undefined
    : withBlockBinding(requested, target, isForced ? [] : messages);
  const set = thinking === undefined ? { messages } : { messages, thinking };
  return { set, remove: isMissingThinking ? ['thinking'] : [], dropped: history.dropped };
}

function lacksThinking(messages: readonly unknown[]): boolean {
  const last = messages.findLastIndex((message) => isRecord(message) && message.role === 'assistant');
  const [turn, next] = [messages[last], messages[last + 1]];
  const blocks = isRecord(turn) ? list(turn.content).filter(isRecord) : [];
  const isAnswered =
    isRecord(next) && list(next.content).some((block) => isRecord(block) && block.type === 'tool_result');
  return isAnswered && !/^(redacted_)?thinking$/.test(text(blocks[0]?.type));
}

class HistoryRepair {
  isChanged = false;
  readonly tally = new Tally();
  private readonly ids = new ToolIds();

  constructor(private readonly accepts: ReasoningPredicate | undefined) {}

  get dropped(): readonly Dropped[] {
    return this.tally.list();
  }

  message(message: unknown, at: string): unknown[] {
    if (!isRecord(message) || !Array.isArray(message.content)) return [message];
    if (message.role === 'assistant') this.ids.beginTurn();
    const original: readonly unknown[] = message.content;
    const content = original.flatMap((block, index) => this.block(block, `${at}.content.${index}`));
    if (content.length === original.length && content.every((block, index) => block === original[index]))
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
        return [this.withField(block, 'id', this.ids.forCall(text(block.id)))];
      case 'tool_result':
        return [this.withField(block, 'tool_use_id', this.ids.forResult(text(block.tool_use_id)))];
      default:
        return [block];
    }
  }

  private reasoning(block: JsonObject, field: 'signature' | 'data', at: string): unknown[] {
    const reasoning = unsealReasoning(text(block[field]), text(block.thinking), 'messages');
    if (isReadable(reasoning, 'messages', this.accepts))
      return [this.withField(block, field, reasoning.signature!)];
    this.tally.dropped(at, 'reasoning without a signature of the target');
    return [];
  }

  private withField(block: JsonObject, field: string, value: string): JsonObject {
    return typeof block[field] !== 'string' || block[field] === value ? block : { ...block, [field]: value };
  }
}
