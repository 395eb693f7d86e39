import {
  annotationFor,
  type ResponseToolCall,
  type CanonicalResponse,
  type EncodedResponse,
  type EncoderOptions,
  foreignParts,
  type JsonObject,
  textIn,
} from '../canonical';
import { writeFinish } from './finish';
import { chatId, secondsNow } from './stream-encoder';
import { renderChatUsage } from './usage';

export const encodeChatResponse = (
  response: CanonicalResponse,
  options: EncoderOptions,
): EncodedResponse => ({
  body: bodyOf(response, options),
  dropped: foreignParts(response, 'chat'),
});

function bodyOf(response: CanonicalResponse, options: EncoderOptions): JsonObject {
  const { blocks, finish } = response;
  const text = textIn(response, 'text');
  const refusal = textIn(response, 'refusal');
  const reasoning = textIn(response, 'reasoning');
  const calls = blocks.filter((block) => block.type === 'tool');
  const message: JsonObject = {
    role: 'assistant',
    content: text === '' && (calls.length > 0 || refusal !== '') ? null : text,
    refusal: refusal === '' ? null : refusal,
  };
  const annotations = response.citations.flatMap(
    ({ origin, value, span }) => annotationFor('chat', origin, value, span) ?? [],
  );
  if (annotations.length > 0) message.annotations = annotations;
  if (reasoning !== '') message.reasoning_content = reasoning;
  if (calls.length > 0) message.tool_calls = calls.map(encodeCall);
  const usage = response.usage ?? options.estimate?.();
  const facts = options.facts?.(usage);
  return {
    id: chatId(options.id ?? response.id),
    object: 'chat.completion',
    created: options.createdAt ?? secondsNow(),
    model: options.model ?? response.model,
    choices: [{ index: 0, message, logprobs: null, finish_reason: writeFinish(finish) }],
    ...(usage && { usage: renderChatUsage(usage) }),
    ...(facts && { svc: facts }),
  };
}

function encodeCall({ id, name, arguments: text, custom }: ResponseToolCall): JsonObject {
  if (custom) return { id, type: 'custom', custom: { name, input: text } };
  return { id, type: 'function', function: { name, arguments: text === '' ? '{}' : text } };
}
