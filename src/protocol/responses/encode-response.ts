import {
  annotationFor,
  type ResponseBlock,
  type CanonicalResponse,
  type EncodedResponse,
  type EncoderOptions,
  foreignParts,
  type JsonObject,
} from '../canonical';
import { secondsNow } from '../chat/stream-encoder';
import {
  finishedEnvelope,
  envelope,
  isVisible,
  withOwnSignature,
  itemId,
  finishedItem,
  responsesId,
} from './envelope';

export const encodeResponsesResponse = (
  response: CanonicalResponse,
  options: EncoderOptions,
): EncodedResponse => ({
  body: bodyOf(response, options),
  dropped: foreignParts(response, 'responses', options.lane),
});

function bodyOf(response: CanonicalResponse, options: EncoderOptions): JsonObject {
  const id = responsesId(options.id ?? response.id);
  const open = envelope(id, options.model ?? response.model, options.createdAt ?? secondsNow(), options.echo);
  const annotations = new Map<ResponseBlock, JsonObject[]>();
  for (const { origin, value, block, span } of response.citations) {
    const blockSpan = { start: 0, end: span.end - span.start };
    const annotation = block && annotationFor('responses', origin, value, blockSpan);
    if (block && annotation) annotations.set(block, [...(annotations.get(block) ?? []), annotation]);
  }
  const visibleBlocks = response.blocks
    .map((block) => (annotations.has(block) ? { ...block, annotations: annotations.get(block)! } : block))
    .map((block) => withOwnSignature(block, options.lane))
    .filter(isVisible);
  const output = visibleBlocks.map((block, index) => finishedItem(block, itemId(id, block.type, index)));
  return finishedEnvelope(open, output, response.finish, response.usage, options);
}
