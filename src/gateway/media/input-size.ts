import type { Picture, RequestMeasure } from '../../protocol';

/**
 * Maximum tokens in a JSON text: no tokenizer makes more than one token per UTF-8 byte, and JSON escapes are never
 * shorter than their characters. The surrounding JSON outweighs a chat template.
 */
export const textBound = (jsonBytes: number): number => jsonBytes;

const TYPICAL_BYTES_PER_TOKEN = 4;

export const textEstimate = (bytes: number): number => Math.ceil(bytes / TYPICAL_BYTES_PER_TOKEN);

/** Tokens of a picture whose header does not state the size. */
const DEFAULT_PICTURE_TOKENS = 1_100;
const LOW_DETAIL_PICTURE_TOKENS = 70;
const TOKENS_PER_PAGE = 3_000;
const BYTES_PER_PAGE = 75_000;
const TYPICAL_REFERENCE_TOKENS = 2_000;

/** Estimated input tokens of a request without audio; charged if the supplier reports no usage. */
export function inputEstimateOf(measure: RequestMeasure, bytes: number): number {
  let tokens = textEstimate(Math.max(0, bytes - measure.mediaBytes));
  for (const picture of measure.pictures) tokens += pictureEstimate(picture);
  for (const document of measure.documents)
    tokens += TOKENS_PER_PAGE * Math.max(1, Math.floor((document.bytes ?? 0) / BYTES_PER_PAGE));
  return tokens + measure.references * TYPICAL_REFERENCE_TOKENS;
}

function pictureEstimate({ detail, size }: Picture): number {
  if (detail === 'low') return LOW_DETAIL_PICTURE_TOKENS;
  if (size === null) return DEFAULT_PICTURE_TOKENS;
  return Math.min(DEFAULT_PICTURE_TOKENS, Math.ceil(size.width / 28) * Math.ceil(size.height / 28));
}
