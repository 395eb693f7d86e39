import {
  type ResponseBlock,
  argumentsObject,
  type CanonicalResponse,
  type EncodedResponse,
  type EncoderOptions,
  foreignParts,
  type JsonObject,
  signatureFor,
  UNSIGNED,
} from '../canonical';
import { writeFinish } from './finish';
import { finalUsage, messagesId } from './stream-encoder';

export const encodeMessagesResponse = (
  response: CanonicalResponse,
  options: EncoderOptions,
): EncodedResponse => ({
  body: bodyOf(response, options),
  dropped: foreignParts(response, 'messages', options.lane),
});

function bodyOf(response: CanonicalResponse, options: EncoderOptions): JsonObject {
  const usage = response.usage ?? options.estimate?.();
  const facts = options.facts?.(usage);
  const hasRefusal = response.blocks.some((block) => block.type === 'refusal');
  return {
    id: messagesId(options.id ?? response.id),
    type: 'message',
    role: 'assistant',
    model: options.model ?? response.model,
    content: response.blocks.flatMap((block) => encodeBlock(block, options.lane)),
    stop_reason: writeFinish(response.finish, hasRefusal),
    stop_sequence: response.stopSequence ?? null,
    usage: finalUsage(usage, options.inputTokens),
    ...(facts && { svc: facts }),
  };
}

function encodeBlock(block: ResponseBlock, lane: string | undefined): JsonObject[] {
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
