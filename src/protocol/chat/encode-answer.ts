import {
  annotationFor,
  type AnswerTool,
  type CanonicalAnswer,
  type EncodedAnswer,
  type EncoderOptions,
  foreignParts,
  type JsonObject,
  textIn,
} from '../canonical';
import { writeFinish } from './finish';
import { chatId, secondsNow } from './stream-encoder';
import { renderChatUsage } from './usage';

export const encodeChatAnswer = (answer: CanonicalAnswer, options: EncoderOptions): EncodedAnswer => ({
  body: bodyOf(answer, options),
  dropped: foreignParts(answer, 'chat'),
});

function bodyOf(answer: CanonicalAnswer, options: EncoderOptions): JsonObject {
  const { blocks, finish } = answer;
  const text = textIn(answer, 'text');
  const refusal = textIn(answer, 'refusal');
  const reasoning = textIn(answer, 'reasoning');
  const calls = blocks.filter((block) => block.type === 'tool');
  const message: JsonObject = {
    role: 'assistant',
    content: text === '' && (calls.length > 0 || refusal !== '') ? null : text,
    refusal: refusal === '' ? null : refusal,
  };
  const annotations = answer.citations.flatMap(
    ({ origin, value, span }) => annotationFor('chat', origin, value, span) ?? [],
  );
  if (annotations.length > 0) message.annotations = annotations;
  if (reasoning !== '') message.reasoning_content = reasoning;
  if (calls.length > 0) message.tool_calls = calls.map(encodeCall);
  const usage = answer.usage ?? options.estimate?.();
  const facts = options.facts?.(usage);
  return {
    id: chatId(options.id ?? answer.id),
    object: 'chat.completion',
    created: options.createdAt ?? secondsNow(),
    model: options.model ?? answer.model,
    choices: [{ index: 0, message, logprobs: null, finish_reason: writeFinish(finish) }],
    ...(usage && { usage: renderChatUsage(usage) }),
    ...(facts && { svc: facts }),
  };
}

function encodeCall({ id, name, arguments: text, custom }: AnswerTool): JsonObject {
  if (custom) return { id, type: 'custom', custom: { name, input: text } };
  return { id, type: 'function', function: { name, arguments: text === '' ? '{}' : text } };
}
