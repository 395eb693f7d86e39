import type { LaneView, ModelView } from '../../catalogue';
import { COUNT_CAP } from '../../kernel';
import { type RequestMeasure, textAlone } from '../../protocol';
import type { PictureRule } from '../../routing';
import { windowOf } from '../../vendors';
import { betasIn, type Call } from '../intake';

/** Suppliers add so much around a conversation, around tools, and as the description of their own tools. */
const FRAME = 256;
const FRAME_OF_TOOLS = 768;
const VENDOR_TOOL = 1_280;
/** No model on the market reads more at once. */
const LARGEST_WINDOW = 2_000_000;

/**
 * The most input that a supplier can charge for. Pictures count by the supplier's own rule; what only the supplier can
 * measure counts as all that the model can read. One call of the model never reads more than that, and every use of a
 * server tool is followed by another call. A translated request runs no server tools: they are of one dialect. Only
 * the vendor's facts lower a bound to the window; `context_tokens` may be too low and never does.
 */
export function inputBoundOf(
  call: Call,
  { bounds, contextTokens }: Pick<ModelView, 'bounds' | 'contextTokens'>,
  { facts }: Pick<LaneView, 'facts'>,
  ruleOf: () => PictureRule,
  runsTools: boolean,
): number {
  const { measure } = call;
  if (measure === null && !call.isUnbounded) return call.textBound;
  const known = windowOf(facts, betasOf(call));
  const uses = Math.max(runsTools ? call.serverTools.uses : 0, facts.rounds ?? 0);
  const { pictures, documents, references } = measure ?? textAlone;
  const rule = pictures.length + documents.length + references + uses > 0 ? ruleOf() : null;
  const factor = rule?.factor ?? 1;
  const whole = Math.ceil(Math.max(known ?? LARGEST_WINDOW, contextTokens ?? 0) * factor);
  if (call.isUnbounded) return Math.min((1 + uses) * whole, COUNT_CAP);
  if (measure === null) return call.textBound;
  let once = call.textBound + framesOf(measure) + call.sound.bound;
  for (const picture of pictures) once += Math.min(bounds.imageTokens ?? Infinity, rule?.most(picture) ?? 0);
  once += documents.length * (bounds.documentTokens ?? whole);
  once += references * (bounds.referenceTokens ?? whole);
  if (known !== null) once = Math.min(once, whole);
  if (uses === 0) return Math.min(once, COUNT_CAP);
  const again = Math.min(whole, once + uses * (bounds.roundTokens ?? whole));
  return Math.min(once + uses * again, COUNT_CAP);
}

/** Features that the caller switches on by name; some widen the window. */
function betasOf({ inbound: { headers } }: Call): readonly string[] {
  const { 'anthropic-beta': betas } = headers;
  return betas === undefined ? [] : betasIn(String(betas));
}

const framesOf = ({ tools, vendorTools }: RequestMeasure): number =>
  FRAME + (tools > 0 ? FRAME_OF_TOOLS : 0) + vendorTools * VENDOR_TOOL;
