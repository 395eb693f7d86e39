import type { IncomingHttpHeaders } from 'node:http';
import type { LaneView } from '../../catalogue';
import {
  editedJsonObject,
  fault,
  type Fault,
  isLong,
  type JsonFields,
  type MaybePromise,
  type ParsedJsonObject,
  printedJsonObject,
  printJsonObjectInSlices,
  readVerbatim,
  type Result,
  whenReady,
} from '../../kernel';
import {
  dialects,
  type Dropped,
  gemini,
  type RequestRepair,
  type ReplyContext,
  type SupplierDialect,
  type EncodingTarget,
} from '../../protocol';
import type { CallBody, SupplierStyles, WireDialect } from '../../routing';
import { findOmittedParts, lostInConversion, type RoutedCall } from '../admission';
import type { GatewayCall } from '../intake';
import { isPassThrough, isText } from '../operations/operation';
import { makeStateless } from './stateless';
import { withoutOmitted } from './without-omitted';

/** A request for one lane: the caller's bytes if both sides use the same dialect, otherwise a conversion. */
export interface OutboundRequest {
  readonly wire: WireDialect;
  /** Codec of the dialect; null if the wire has none. */
  readonly dialect: SupplierDialect | null;
  readonly body: CallBody;
  readonly headers: IncomingHttpHeaders;
  /** Conversion losses and the context to convert the reply; null if passed through. */
  readonly translation: { readonly reply: ReplyContext; readonly dropped: readonly Dropped[] } | null;
  readonly dropped: readonly Dropped[];
}

type RoutedParts = Pick<RoutedCall, 'call' | 'model' | 'held'>;
type ReasoningFilter = Pick<EncodingTarget, 'reads' | 'withoutReasoning'>;

/** Returns a promise only for a long body, which is parsed again or serialised in slices. */
export function createOutbound(
  routed: RoutedParts,
  lane: LaneView,
  styles: SupplierStyles,
  reader: ReasoningFilter = {},
): MaybePromise<OutboundRequest> {
  const { call, held } = routed;
  const wire = styles.wireFor(lane, call.operation.name, call.needs);
  if (wire === undefined) throw notServedError();
  const isPassedThrough = isPassThrough(call.operation, wire);
  // A conversion forwards and reports fields by its own rules.
  const omitted = isPassedThrough ? findOmittedParts(call, lane, held.forwardsUnknown, styles) : null;
  const build = (routedCall: RoutedParts): MaybePromise<OutboundRequest> =>
    buildOutbound(wire, routedCall, lane, { styles, reader });
  if (omitted === null) return build(routed);
  return whenReady(withoutOmitted(call, omitted), (inbound) =>
    whenReady(build({ ...routed, call: { ...call, inbound } }), (outbound) => ({
      ...outbound,
      dropped: [...omitted.dropped, ...outbound.dropped],
    })),
  );
}

function buildOutbound(
  wire: WireDialect,
  routed: RoutedParts,
  lane: LaneView,
  { styles, reader }: { readonly styles: SupplierStyles; readonly reader: ReasoningFilter },
): MaybePromise<OutboundRequest> {
  const { inbound, operation, serverTools } = routed.call;
  const isPassedThrough = isPassThrough(operation, wire);
  const target = {
    ...styles.of(lane.provider).target(lane),
    reads: reader.reads,
    withoutReasoning: reader.withoutReasoning,
  };
  const repair =
    isPassedThrough && isText(operation) && operation.untouched !== true
      ? operation.dialect.repairRequest
      : null;
  const needsRepair = repair !== null && repair(inbound.body, target) !== null;
  const isSerialised =
    isText(operation) &&
    (!isPassedThrough || needsRepair || serverTools.limits !== null || operation.keepsAnswers === true);
  const build = (body: JsonFields): MaybePromise<OutboundRequest> =>
    isPassedThrough
      ? whenReady(passThrough(routed, body, wire), (passed) =>
          applyRepair(passed, (text) => (needsRepair ? repair(text, target) : null)),
        )
      : convert(routed, body, { target, wire });
  return whenReady(isSerialised ? readVerbatim(inbound, operation.dialect.written) : inbound.body, build);
}

function passThrough(
  { call, model }: Pick<RoutedCall, 'call' | 'model'>,
  body: JsonFields,
  wire: WireDialect,
): MaybePromise<OutboundRequest> {
  const { operation } = call;
  const dialect = isText(operation) ? operation.dialect : null;
  return whenReady(requestBody(call, body), (requestBodyParts): MaybePromise<OutboundRequest> => {
    const { headers } = call.inbound;
    const insertedLimits = call.serverTools.insertedLimits.map(insertedLimitNotice);
    const passed = {
      wire,
      dialect,
      body: requestBodyParts,
      headers,
      translation: null,
      dropped: insertedLimits,
    };
    if (operation.keepsAnswers !== true || requestBodyParts.kind !== 'json') return passed;
    const wantsReasoning = requestBodyParts.text.body.store !== false && model.capabilities.has('reasoning');
    const { edits, dropped } = makeStateless(requestBodyParts.text.body, wantsReasoning);
    return whenReady(editedJsonObject(requestBodyParts.text, edits), (text) => ({
      ...passed,
      body: { kind: 'json', text },
      dropped: [...insertedLimits, ...dropped],
    }));
  });
}

const insertedLimitNotice = (name: string): Dropped => ({
  loss: 'approximated',
  path: name,
  name,
  reason: 'limited, because the request names no limit',
  at: name,
  count: 1,
});

function applyRepair(
  outbound: OutboundRequest,
  repair: (body: JsonFields) => RequestRepair | null,
): MaybePromise<OutboundRequest> {
  const { body } = outbound;
  const change = body.kind === 'json' ? repair(body.text.body) : null;
  if (body.kind !== 'json' || change === null) return outbound;
  const { dropped, ...edits } = change;
  return whenReady(editedJsonObject(body.text, edits), (text) => ({
    ...outbound,
    body: { kind: 'json', text },
    dropped: [...outbound.dropped, ...dropped],
  }));
}

function convert(
  { call, held }: Pick<RoutedCall, 'call' | 'held'>,
  sourceBody: JsonFields,
  { target: baseTarget, wire }: { target: EncodingTarget; wire: WireDialect },
): MaybePromise<OutboundRequest> {
  const { operation, inbound } = call;
  const dialect = supplierDialect(wire);
  if (!isText(operation)) throw notServedError();
  const request = unwrap(operation.dialect.decodeRequest(sourceBody));
  const limitedRequest =
    held.cappedOutput === null ? request : { ...request, maxOutputTokens: held.cappedOutput };
  const target = { ...baseTarget, maxOutputTokens: held.outputBound };
  const { body, reply, dropped } = unwrap(dialect.encodeRequest(limitedRequest, target));
  return whenReady(isLong(inbound) ? printJsonObjectInSlices(body) : printedJsonObject(body), (text) => ({
    wire,
    dialect,
    body: { kind: 'json', text },
    headers: inbound.headers,
    translation: { reply, dropped: lostInConversion(call, dropped) },
    dropped: [],
  }));
}

function requestBody(
  { inbound, operation, serverTools }: GatewayCall,
  body: JsonFields,
): MaybePromise<CallBody> {
  const { form } = inbound;
  if (form !== null) return { kind: 'form', ...form };
  const text = { ...textOf(inbound), body };
  const { defaults = {} } = operation;
  const missing = Object.keys(defaults).filter((name) => body[name] === undefined || body[name] === null);
  const limits = serverTools.limits?.(body);
  if (missing.length === 0 && limits === undefined) return { kind: 'json', text };
  const set = { ...Object.fromEntries(missing.map((name) => [name, defaults[name]])), ...limits };
  return whenReady(editedJsonObject(text, { set }), (edited) => ({ kind: 'json', text: edited }));
}

const textOf = ({ bytes, body, members, isRounded }: ParsedJsonObject): ParsedJsonObject => ({
  bytes,
  body,
  members,
  isRounded,
});

function supplierDialect(wire: WireDialect): SupplierDialect {
  if (wire === 'gemini') return gemini;
  if (wire === 'chat' || wire === 'messages' || wire === 'responses') return dialects[wire];
  throw notServedError();
}

const notServedError = (): Fault =>
  fault('configuration_error', { message: 'The supplier of this model does not serve this operation.' });

function unwrap<T>(result: Result<T, Fault>): T {
  if (!result.ok) throw result.error;
  return result.value;
}

/** A chat stream reports usage only on request: usage is always requested, and hidden from callers who did not ask. */
export const hidesUsage = ({ operation, stream, includeUsage }: GatewayCall): boolean =>
  stream && !includeUsage && isText(operation) && operation.dialect.name === 'chat';
