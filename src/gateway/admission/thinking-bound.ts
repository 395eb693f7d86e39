import type { LaneView, ModelView } from '../../catalogue';
import type { SupplierStyles } from '../../routing';
import { forbidsThinking, THINKING_FIELDS } from '../../vendors';
import { type GatewayCall, MAX_THINKING_TOKENS } from '../intake';
import { isPassThrough } from '../operations/operation';
import type { Admission } from './admission';

export function thinkingBoundOf(
  call: GatewayCall,
  { model, lanes }: Admission,
  styles: SupplierStyles,
): number {
  let bound = 0;
  for (const { lane } of lanes) {
    const tokens = Math.max(
      requestedThinking(call, lane, styles),
      defaultThinking(call, model, lane, styles),
    );
    if (tokens > bound) bound = tokens;
  }
  return bound;
}

/** The caller's number counts on lanes that take one of the fields that set it. */
function requestedThinking(call: GatewayCall, lane: LaneView, styles: SupplierStyles): number {
  const { extraThinkingTokens, operation, needs, inbound } = call;
  if (extraThinkingTokens === 0) return 0;
  if (!isPassThrough(operation, styles.wireFor(lane, operation.name, needs))) return 0;
  const takesAnyField = [...THINKING_FIELDS].some(
    (name) => Object.hasOwn(inbound.body, name) && styles.takesField(lane, operation.name, name),
  );
  return takesAnyField ? extraThinkingTokens : 0;
}

/**
 * For models that think beyond the limit by default. Reasoning models of a supplier without facts get the larger limit.
 */
function defaultThinking(
  call: GatewayCall,
  model: ModelView,
  lane: LaneView,
  styles: SupplierStyles,
): number {
  const { facts } = lane;
  if (facts.thinksOutsideMaxTokens === false) return 0;
  const isAssumed =
    facts.thinksOutsideMaxTokens === undefined &&
    facts.known === null &&
    model.capabilities.has('reasoning') &&
    !styles.validatesFields(lane.provider);
  if (!isAssumed && facts.thinksOutsideMaxTokens === undefined) return 0;
  if (styles.wireFor(lane, call.operation.name, call.needs) !== 'chat') return 0;
  return forbidsThinking(call.inbound.body) ? 0 : (facts.maxOutput ?? MAX_THINKING_TOKENS);
}
