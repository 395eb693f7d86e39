import type { LaneView, PricedLane } from '../../catalogue';
import type { Dropped } from '../../protocol';
import type { SupplierStyles } from '../../routing';
import { type MeaningfulField, meaningOfField } from '../../vendors';
import { type Call, NOTHING_UNKNOWN, notTaken } from '../intake';
import { isSpoken, isText } from '../operations/operation';

/** The parts of a request that one lane does not get. */
export interface LeftOut {
  readonly fields: ReadonlySet<string>;
  readonly parts: ReadonlySet<string>;
  readonly betas: ReadonlySet<string>;
  readonly dropped: readonly Dropped[];
}

/** Lanes that can serve the request, and the field that keeps it from others. */
export interface ServingLanes {
  readonly lanes: readonly PricedLane[];
  readonly withheldBy: string | null;
}

const REASON = 'unknown to the gateway';

const meaningIn = ({ operation }: Call, name: string): MeaningfulField | undefined =>
  isText(operation) ? meaningOfField(operation.dialect.name, name) : undefined;

/** The only safeguard whose results have a published form. */
export const TOOL_REVIEW = 'dangerous_tool_use';
const SAFEGUARDS = 'safeguards';

/** A request of Messages whose tool calls are to be reviewed, and nothing else of its answer. */
export function wantsToolReview({ operation, inbound: { body } }: Call): boolean {
  const asked = body[SAFEGUARDS];
  return (
    operation.name === 'messages' && Array.isArray(asked) && asked.length === 1 && isToolReview(asked[0])
  );
}

const isToolReview = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && 'type' in value && value.type === TOOL_REVIEW;

/** What a conversion left out, without the field that the gateway serves in the supplier's place. */
export const lostInConversion = (call: Call, dropped: readonly Dropped[]): readonly Dropped[] =>
  wantsToolReview(call) ? dropped.filter(({ path }) => path !== SAFEGUARDS) : dropped;

/** Whether the supplier of the lane reviews the tool calls itself. */
export function isReviewedByLane(call: Call, lane: LaneView, styles: SupplierStyles): boolean {
  const meaning = meaningIn(call, SAFEGUARDS);
  return meaning !== undefined && takesMeaning(call, lane, { name: SAFEGUARDS, meaning }, styles);
}

/**
 * Keeps the lanes that take every field without which the answer would mean something else. Throws a refusal that
 * names the field if there is none. No lane is skipped for any other unknown field, or for a review of tool calls if a
 * model `reviews` them.
 */
export function lanesServing(
  call: Call,
  lanes: readonly PricedLane[],
  styles: SupplierStyles,
  reviews: boolean,
): ServingLanes {
  for (const name in call.inbound.body) {
    const meaning = meaningIn(call, name);
    if (meaning === undefined || (call.inbound.body[name] ?? null) === null) continue;
    if (reviews && name === SAFEGUARDS && wantsToolReview(call)) continue;
    if (meaning.use === 'refused') throw notTaken(name, call.model, meaning);
    const serving = lanes.filter(({ lane }) => takesMeaning(call, lane, { name, meaning }, styles));
    if (serving.length === 0) throw notTaken(name, call.model, meaning);
    const isWithheld = serving.length < lanes.length && meaning.canRetryWithout === true;
    return { lanes: serving, withheldBy: isWithheld ? name : null };
  }
  return { lanes, withheldBy: null };
}

/** The refusal for a request whose remaining lanes do not take the field. */
export function withheld({ operation, model }: Call, name: string): Error {
  const meaning = isText(operation) ? meaningOfField(operation.dialect.name, name) : undefined;
  return notTaken(name, model, meaning ?? { why: REASON });
}

function takesMeaning(
  { operation, needs }: Call,
  lane: LaneView,
  { name, meaning }: { readonly name: string; readonly meaning: MeaningfulField },
  styles: SupplierStyles,
): boolean {
  if (!isSpoken(operation, styles.wireFor(lane, operation.name, needs))) return false;
  return (
    styles.takesField(lane, operation.name, name) ||
    (meaning.vendorTakes === true && styles.validatesFields(lane.provider))
  );
}

/**
 * What a lane of the caller's dialect does not get. Unknown names are forwarded only with `forwards`, and then only to
 * suppliers that refuse what they do not know. Null if nothing is left out.
 */
export function leftOutOf(
  call: Call,
  lane: LaneView,
  forwards: boolean,
  styles: SupplierStyles,
): LeftOut | null {
  const { unknown, operation } = call;
  if (unknown === NOTHING_UNKNOWN || (forwards && styles.validatesFields(lane.provider))) return null;
  const isLeftOut = (name: string): boolean => !styles.takesField(lane, operation.name, name);
  const fields = unknown.fields.filter((name) => {
    const meaning = meaningIn(call, name);
    return meaning === undefined ? isLeftOut(name) : !takesMeaning(call, lane, { name, meaning }, styles);
  });
  const parts = unknown.parts.filter(({ name }) => isLeftOut(name));
  const betas = unknown.betas.filter(isLeftOut);
  if (fields.length + parts.length + betas.length === 0) return null;
  return {
    fields: new Set(fields),
    parts: new Set(parts.map(({ name }) => name)),
    betas: new Set(betas),
    dropped: [
      // A field with a meaning is left out only if the gateway serves it.
      ...fields.filter((name) => meaningIn(call, name) === undefined).map((name) => droppedPart(name, 1)),
      ...parts.map(({ name, count }) => droppedPart(name, count)),
      ...betas.map((beta) => droppedPart(`anthropic-beta.${beta}`, 1)),
    ],
  };
}

const droppedPart = (path: string, count: number): Dropped => ({
  loss: 'dropped',
  path,
  reason: REASON,
  at: path,
  count,
});
