import type { LaneView, ModelView } from '../../catalogue';
import type { SupplierStyles } from '../../routing';
import { forbidsThinking, THINKING_FIELDS } from '../../vendors';
import { type Call, MAX_THINKING_TOKENS } from '../intake';
import { isSpoken } from '../operations/operation';
import type { Admission } from './admission';

/** Tokens of thinking that one of the lanes can bill beyond the limit of an answer. */
export function thinkingBoundOf(call: Call, { model, lanes }: Admission, styles: SupplierStyles): number {
  let bound = 0;
  for (const { lane } of lanes) {
    const tokens = Math.max(requested(call, lane, styles), unrequested(call, model, lane, styles));
    if (tokens > bound) bound = tokens;
  }
  return bound;
}

/** The caller's own number counts on lanes that get one of the fields which set it. */
function requested(call: Call, lane: LaneView, styles: SupplierStyles): number {
  const { thinkingBeside, operation, needs, inbound } = call;
  if (thinkingBeside === 0) return 0;
  if (!isSpoken(operation, styles.wireFor(lane, operation.name, needs))) return 0;
  const takesOne = [...THINKING_FIELDS].some(
    (name) => Object.hasOwn(inbound.body, name) && styles.takesField(lane, operation.name, name),
  );
  return takesOne ? thinkingBeside : 0;
}

/**
 * A model that thinks beyond the limit without being asked. Nothing is known of a reasoning model behind a supplier
 * without facts, so the larger bound applies until its facts say otherwise.
 */
function unrequested(call: Call, model: ModelView, lane: LaneView, styles: SupplierStyles): number {
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
