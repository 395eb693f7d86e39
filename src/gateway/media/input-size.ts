import type { Picture, RequestMeasure } from '../../protocol';

/**
 * The most tokens in a JSON text of so many bytes. No tokenizer makes more than one of a byte of UTF-8, and no escape of
 * JSON is shorter than what it stands for. The JSON around a message or a tool outweighs what a chat template puts there.
 */
export const textBound = (jsonBytes: number): number => jsonBytes;

const USUAL_BYTES_PER_TOKEN = 4;

export const textEstimate = (bytes: number): number => Math.ceil(bytes / USUAL_BYTES_PER_TOKEN);

/** A picture takes so many tokens where its header does not tell the size. */
const USUAL_PICTURE = 1_100;
const COARSE_PICTURE = 70;
const PAGE = 3_000;
const BYTES_PER_PAGE = 75_000;
const USUAL_REFERENCE = 2_000;

/** An estimate of a request's input tokens without its sound: charged when the supplier reports no usage. */
export function inputEstimateOf(measure: RequestMeasure, bytes: number): number {
  let tokens = textEstimate(Math.max(0, bytes - measure.mediaBytes));
  for (const picture of measure.pictures) tokens += pictureEstimate(picture);
  for (const document of measure.documents)
    tokens += PAGE * Math.max(1, Math.floor((document.bytes ?? 0) / BYTES_PER_PAGE));
  return tokens + measure.references * USUAL_REFERENCE;
}

function pictureEstimate({ detail, size }: Picture): number {
  if (detail === 'low') return COARSE_PICTURE;
  if (size === null) return USUAL_PICTURE;
  return Math.min(USUAL_PICTURE, Math.ceil(size.width / 28) * Math.ceil(size.height / 28));
}
