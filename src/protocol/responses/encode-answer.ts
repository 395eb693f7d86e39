import {
  type CanonicalAnswer,
  type EncodedAnswer,
  type EncoderOptions,
  foreignParts,
  type JsonObject,
} from '../canonical';
import { secondsNow } from '../chat/stream-encoder';
import { closed, envelope, isShown, ownSigned, itemId, itemOf, responsesId } from './envelope';

export const encodeResponsesAnswer = (answer: CanonicalAnswer, options: EncoderOptions): EncodedAnswer => ({
  body: bodyOf(answer, options),
  dropped: foreignParts(answer, 'responses', options.lane),
});

function bodyOf(answer: CanonicalAnswer, options: EncoderOptions): JsonObject {
  const id = responsesId(options.id ?? answer.id);
  const open = envelope(id, options.model ?? answer.model, options.createdAt ?? secondsNow(), options.echo);
  const shown = answer.blocks.map((block) => ownSigned(block, options.lane)).filter(isShown);
  const output = shown.map((block, index) => itemOf(block, itemId(id, block.type, index)));
  return closed(open, output, answer.finish, answer.usage, options);
}
