import {
  type AnswerBlock,
  argumentsObject,
  type CanonicalAnswer,
  type EncodedAnswer,
  type EncoderOptions,
  foreignParts,
  type JsonObject,
  signatureFor,
  UNSIGNED,
} from '../canonical';
import { writeFinish } from './finish';
import { finalUsage, messagesId } from './stream-encoder';

export const encodeMessagesAnswer = (answer: CanonicalAnswer, options: EncoderOptions): EncodedAnswer => ({
  body: bodyOf(answer, options),
  dropped: foreignParts(answer, 'messages', options.lane),
});

function bodyOf(answer: CanonicalAnswer, options: EncoderOptions): JsonObject {
  const usage = answer.usage ?? options.estimate?.();
  const facts = options.facts?.(usage);
  const refused = answer.blocks.some((block) => block.type === 'refusal');
  return {
    id: messagesId(options.id ?? answer.id),
    type: 'message',
    role: 'assistant',
    model: options.model ?? answer.model,
    content: answer.blocks.flatMap((block) => encodeBlock(block, options.lane)),
    stop_reason: writeFinish(answer.finish, refused),
    stop_sequence: answer.stopSequence ?? null,
    usage: finalUsage(usage, options.inputTokens),
    ...(facts && { svc: facts }),
  };
}

function encodeBlock(block: AnswerBlock, lane: string | undefined): JsonObject[] {
  switch (block.type) {
    case 'text':
    case 'refusal':
      return block.text === '' ? [] : [{ type: 'text', text: block.text }];
    case 'tool':
      return [{ type: 'tool_use', id: block.id, name: block.name, input: argumentsObject(block.arguments) }];
    case 'reasoning': {
      const signature = signatureFor(block, 'messages', lane);
      if (block.redacted)
        return signature === undefined ? [] : [{ type: 'redacted_thinking', data: signature }];
      if (block.text === '' && signature === undefined) return [];
      return [{ type: 'thinking', thinking: block.text, signature: signature ?? UNSIGNED }];
    }
  }
}
