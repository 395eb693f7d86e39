import { type CanonicalAnswer, type EncoderOptions, type JsonObject } from '../canonical';
import { secondsNow } from '../chat/stream-encoder';
import { closed, envelope, isShown, itemId, itemOf, responsesId } from './envelope';

export function encodeResponsesAnswer(answer: CanonicalAnswer, options: EncoderOptions): JsonObject {
  const id = responsesId(options.id ?? answer.id);
  const open = envelope(id, options.model ?? answer.model, options.createdAt ?? secondsNow(), options.echo);
  const shown = answer.blocks.filter(isShown);
  const output = shown.map((block, index) => itemOf(block, itemId(id, block.type, index)));
  return closed(open, output, answer.finish, answer.usage, options);
}
