import type { LaneView, PricedLane } from '../../catalogue';
import type { Dropped } from '../../protocol';
import type { SupplierStyles } from '../../routing';
import { type MeaningfulField, meaningOfField } from '../../vendors';
import { type GatewayCall, NOTHING_UNKNOWN, unsupportedFieldError } from '../intake';
import { isPassThrough, isText } from '../operations/operation';

export interface OmittedParts {
  readonly fields: ReadonlySet<string>;
  readonly parts: ReadonlySet<string>;
  readonly betas: ReadonlySet<string>;
  readonly dropped: readonly Dropped[];
}

export interface ServingLanes {
  readonly lanes: readonly PricedLane[];
  readonly withheldBy: string | null;
}

const UNKNOWN_REASON = 'unknown to the gateway';

const findMeaning = ({ operation }: GatewayCall, name: string): MeaningfulField | undefined =>
  isText(operation) ? meaningOfField(operation.dialect.name, name) : undefined;

/** The only safeguard with a published result format. */
export const TOOL_REVIEW = 'dangerous_tool_use';
const SAFEGUARDS = 'safeguards';

export function wantsToolReview({ operation, inbound: { body } }: GatewayCall): boolean {
  const safeguards = body[SAFEGUARDS];
  return (
    operation.name === 'messages' &&
    Array.isArray(safeguards) &&
    safeguards.length === 1 &&
    isToolReview(safeguards[0])
  );
}

const isToolReview = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && 'type' in value && value.type === TOOL_REVIEW;

/** Losses of a conversion, except the field that the gateway serves instead of the supplier. */
export const lostInConversion = (call: GatewayCall, dropped: readonly Dropped[]): readonly Dropped[] =>
  wantsToolReview(call) ? dropped.filter(({ path }) => path !== SAFEGUARDS) : dropped;

export function isReviewedByLane(call: GatewayCall, lane: LaneView, styles: SupplierStyles): boolean {
  const meaning = findMeaning(call, SAFEGUARDS);
  return meaning !== undefined && takesMeaning(call, lane, { name: SAFEGUARDS, meaning }, styles);
}

/**
 * Keeps the lanes that take every field that changes the meaning of the response; throws an error naming the field if
 * none remain. A review of tool calls excludes no lane if a model `reviews` them.
 */
export function lanesServing(
  call: GatewayCall,
  lanes: readonly PricedLane[],
  styles: SupplierStyles,
  reviews: boolean,
): ServingLanes {
  for (const name in call.inbound.body) {
    const meaning = findMeaning(call, name);
    if (meaning === undefined || (call.inbound.body[name] ?? null) === null) continue;
    if (reviews && name === SAFEGUARDS && wantsToolReview(call)) continue;
    if (meaning.use === 'refused') throw unsupportedFieldError(name, call.model, meaning);
    const serving = lanes.filter(({ lane }) => takesMeaning(call, lane, { name, meaning }, styles));
    if (serving.length === 0) throw unsupportedFieldError(name, call.model, meaning);
    const isWithheld = serving.length < lanes.length && meaning.canRetryWithout === true;
    return { lanes: serving, withheldBy: isWithheld ? name : null };
  }
  return { lanes, withheldBy: null };
}

export function withheldFieldError({ operation, model }: GatewayCall, name: string): Error {
  const meaning = isText(operation) ? meaningOfField(operation.dialect.name, name) : undefined;
  return unsupportedFieldError(name, model, meaning ?? { why: UNKNOWN_REASON });
}

function takesMeaning(
  { operation, needs }: GatewayCall,
  lane: LaneView,
  { name, meaning }: { readonly name: string; readonly meaning: MeaningfulField },
  styles: SupplierStyles,
): boolean {
  if (!isPassThrough(operation, styles.wireFor(lane, operation.name, needs))) return false;
  return (
    styles.takesField(lane, operation.name, name) ||
    (meaning.vendorTakes === true && styles.validatesFields(lane.provider))
  );
}

/**
 * Returns the parts not sent to a lane of the caller's dialect; null if nothing is omitted. Unknown names are forwarded
 * only with `forwards`, to suppliers that reject unknown fields.
 */
export function findOmittedParts(
  call: GatewayCall,
  lane: LaneView,
  forwards: boolean,
  styles: SupplierStyles,
): OmittedParts | null {
  const { unknown, operation } = call;
  if (unknown === NOTHING_UNKNOWN || (forwards && styles.validatesFields(lane.provider))) return null;
  const isOmitted = (name: string): boolean => !styles.takesField(lane, operation.name, name);
  const fields = unknown.fields.filter((name) => {
    const meaning = findMeaning(call, name);
    return meaning === undefined ? isOmitted(name) : !takesMeaning(call, lane, { name, meaning }, styles);
  });
  const parts = unknown.parts.filter(({ name }) => isOmitted(name));
  const betas = unknown.betas.filter(isOmitted);
  if (fields.length + parts.length + betas.length === 0) return null;
  return {
    fields: new Set(fields),
    parts: new Set(parts.map(({ name }) => name)),
    betas: new Set(betas),
    dropped: [
      // A field with a meaning is omitted only if the gateway serves it.
      ...fields.filter((name) => findMeaning(call, name) === undefined).map((name) => droppedPart(name, 1)),
      ...parts.map(({ name, count }) => droppedPart(name, count)),
      ...betas.map((beta) => droppedPart(`anthropic-beta.${beta}`, 1)),
    ],
  };
}

const droppedPart = (path: string, count: number): Dropped => ({
  loss: 'dropped',
  path,
  reason: UNKNOWN_REASON,
  at: path,
  count,
});
