import type { ModelView } from '../../catalogue';
import { COUNT_CAP } from '../../kernel';
import type { Picture, RequestMeasure } from '../../protocol';
import type { PictureRule } from '../../routing';
import { recordingTokens } from './audio';
import type { ServerTools } from './server-tools';

/**
 * The most tokens in a JSON text of so many bytes. No tokenizer makes more than one of a byte of UTF-8, and no escape of
 * JSON is shorter than what it stands for. The JSON around a message or a tool outweighs what a chat template puts there.
 */
export const textBound = (jsonBytes: number): number => jsonBytes;

const USUAL_BYTES_PER_TOKEN = 4;

export const textEstimate = (bytes: number): number => Math.ceil(bytes / USUAL_BYTES_PER_TOKEN);

/** What suppliers put around a conversation, around tools, and into tools that they describe themselves. */
const FRAME = 256;
const FRAME_OF_TOOLS = 768;
const VENDOR_TOOL = 1_280;
/** No model that is sold reads more at once. */
const LARGEST_WINDOW = 2_000_000;

/** What a request asks to be read. */
export interface AskedInput {
  /** What a conversation carries beside its text; null where something else is asked. */
  readonly measure: RequestMeasure | null;
  readonly serverTools: ServerTools;
  /** More tokens than the text can have. */
  readonly textBound: number;
}

/** What reads the request in the end. */
export interface Reader {
  readonly ruleOf: () => PictureRule;
  /** False where the request is translated: server tools are of one dialect and do not survive that. */
  readonly runsTools: boolean;
}

/**
 * The most input that a supplier can charge for. Pictures count by the supplier's own rule; what only the supplier can
 * measure counts as all that the model can read. One call of the model never reads more than that, and every use of a
 * server tool is followed by another call.
 */
export function inputBoundOf(call: AskedInput, model: ModelView, { ruleOf, runsTools }: Reader): number {
  const { measure } = call;
  if (measure === null) return call.textBound;
  const { bounds, contextTokens } = model;
  const uses = runsTools ? call.serverTools.uses : 0;
  const { pictures, documents, references, recordings } = measure;
  const rule = pictures.length + documents.length + references + uses > 0 ? ruleOf() : null;
  const window = contextTokens === null ? null : Math.ceil(contextTokens * (rule?.factor ?? 1));
  const whole = window ?? Math.ceil(LARGEST_WINDOW * (rule?.factor ?? 1));
  let once = call.textBound + framesOf(measure);
  for (const picture of pictures) once += Math.min(bounds.imageTokens ?? Infinity, rule?.most(picture) ?? 0);
  for (const recording of recordings) once += recordingTokens(recording).bound;
  once += documents.length * (bounds.documentTokens ?? whole);
  once += references * (bounds.referenceTokens ?? whole);
  if (window !== null) once = Math.min(once, window);
  if (uses === 0) return Math.min(once, COUNT_CAP);
  const again = Math.min(whole, once + uses * (bounds.roundTokens ?? whole));
  return Math.min(once + uses * again, COUNT_CAP);
}

const framesOf = ({ tools, vendorTools }: RequestMeasure): number =>
  FRAME + (tools > 0 ? FRAME_OF_TOOLS : 0) + vendorTools * VENDOR_TOOL;

/** What is usual, where the header does not tell the size. */
const USUAL_PICTURE = 1_100;
const COARSE_PICTURE = 70;
const PAGE = 3_000;
const BYTES_PER_PAGE = 75_000;
const USUAL_REFERENCE = 2_000;

/** About as many tokens as a request has: what is charged when nobody reports it. */
export function inputEstimateOf(measure: RequestMeasure, bytes: number): number {
  let tokens = textEstimate(Math.max(0, bytes - measure.mediaBytes));
  for (const picture of measure.pictures) tokens += pictureEstimate(picture);
  for (const recording of measure.recordings) tokens += recordingTokens(recording).estimate;
  for (const document of measure.documents)
    tokens += PAGE * Math.max(1, Math.floor((document.bytes ?? 0) / BYTES_PER_PAGE));
  return tokens + measure.references * USUAL_REFERENCE;
}

function pictureEstimate({ detail, size }: Picture): number {
  if (detail === 'low') return COARSE_PICTURE;
  if (size === null) return USUAL_PICTURE;
  return Math.min(USUAL_PICTURE, Math.ceil(size.width / 28) * Math.ceil(size.height / 28));
}
