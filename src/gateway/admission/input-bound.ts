import type { LaneView, ModelView } from '../../catalogue';
import { COUNT_CAP } from '../../kernel';
import { type RequestMeasure, textOnlyMeasure } from '../../protocol';
import type { PictureRule } from '../../routing';
import { windowOf } from '../../vendors';
import { betasIn, type GatewayCall } from '../intake';

/** Tokens that suppliers add around a conversation, around tools, and to describe their own tools. */
const FRAME_TOKENS = 256;
const TOOLS_FRAME_TOKENS = 768;
const VENDOR_TOOL_TOKENS = 1_280;
/** Larger than the context window of any model on the market. */
const MAX_WINDOW_TOKENS = 2_000_000;

/**
 * Maximum input tokens that a supplier can charge for. Content that cannot be measured here counts as a full window,
 * and each use of a server tool adds another call.
 */
export function inputBoundOf(
  call: GatewayCall,
  { bounds, contextTokens }: Pick<ModelView, 'bounds' | 'contextTokens'>,
  { facts }: Pick<LaneView, 'facts'>,
  ruleOf: () => PictureRule,
  runsTools: boolean,
): number {
  const { measure } = call;
  if (measure === null && !call.isUnbounded) return call.textBound;
  const knownWindow = windowOf(facts, betasOf(call));
  const uses = Math.max(runsTools ? call.serverTools.uses : 0, facts.rounds ?? 0);
  const { pictures, documents, references } = measure ?? textOnlyMeasure;
  const rule = pictures.length + documents.length + references + uses > 0 ? ruleOf() : null;
  const factor = rule?.factor ?? 1;
  const window = Math.ceil(Math.max(knownWindow ?? MAX_WINDOW_TOKENS, contextTokens ?? 0) * factor);
  if (call.isUnbounded) return Math.min((1 + uses) * window, COUNT_CAP);
  if (measure === null) return call.textBound;
  let firstCall = call.textBound + frameTokens(measure) + call.sound.bound;
  for (const picture of pictures)
    firstCall += Math.min(bounds.imageTokens ?? Infinity, rule?.most(picture) ?? 0);
  firstCall += documents.length * (bounds.documentTokens ?? window);
  firstCall += references * (bounds.referenceTokens ?? window);
  if (knownWindow !== null) firstCall = Math.min(firstCall, window);
  if (uses === 0) return Math.min(firstCall, COUNT_CAP);
  const laterCall = Math.min(window, firstCall + uses * (bounds.roundTokens ?? window));
  return Math.min(firstCall + uses * laterCall, COUNT_CAP);
}

/** Features that the caller enables by name; some widen the window. */
function betasOf({ inbound: { headers } }: GatewayCall): readonly string[] {
  const { 'anthropic-beta': betas } = headers;
  return betas === undefined ? [] : betasIn(String(betas));
}

const frameTokens = ({ tools, vendorTools }: RequestMeasure): number =>
  FRAME_TOKENS + (tools > 0 ? TOOLS_FRAME_TOKENS : 0) + vendorTools * VENDOR_TOOL_TOKENS;
