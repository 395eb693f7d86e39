import type { IncomingHttpHeaders } from 'node:http';
import type { LaneView } from '../../catalogue';
import {
  editedJsonObject,
  fault,
  type Fault,
  isLong,
  type JsonFields,
  type JsonObjectText,
  printedInSlices,
  printedJsonObject,
  readWritten,
  type Result,
} from '../../kernel';
import {
  dialects,
  type Dropped,
  gemini,
  type Mended,
  type ReplyContext,
  type SupplierSide,
  type Target,
} from '../../protocol';
import type { OutgoingBody, SupplierStyles, WireDialect } from '../../routing';
import { leftOutOf, lostInConversion, type RoutedCall } from '../admission';
import type { Call } from '../intake';
import { isSpoken, isText } from '../operations/operation';
import { stateless } from './stateless';
import { withoutUnknown } from './without-unknown';

/** A request for one lane: the caller's bytes where both sides speak one dialect, else a translation. */
export interface Outbound {
  /** The supplier is asked in this dialect. */
  readonly wire: WireDialect;
  /** The same where it is a dialect. */
  readonly dialect: SupplierSide | null;
  readonly body: OutgoingBody;
  /** The caller's headers, without what the lane does not get of them. */
  readonly headers: IncomingHttpHeaders;
  /** The translation says what was lost; null where there was none. */
  readonly translation: { readonly reply: ReplyContext; readonly dropped: readonly Dropped[] } | null;
  /** These fields of the caller's body are not forwarded. */
  readonly dropped: readonly Dropped[];
}

type Routed = Pick<RoutedCall, 'call' | 'model' | 'held'>;
type Reader = Pick<Target, 'reads' | 'withoutReasoning'>;

/** A promise only for a long body, which is read once more or printed in slices. */
export function outboundFor(
  routed: Routed,
  lane: LaneView,
  styles: SupplierStyles,
  reader: Reader = {},
): Outbound | Promise<Outbound> {
  const { call, held } = routed;
  const wire = styles.wireFor(lane, call.operation.name, call.needs);
  if (wire === undefined) throw notServed();
  const isPassed = isSpoken(call.operation, wire);
  // A conversion forwards and reports by its own rules.
  const leftOut = isPassed ? leftOutOf(call, lane, held.forwardsUnknown, styles) : null;
  const send = (known: Routed): Eventually<Outbound> => outboundIn(wire, known, lane, { styles, reader });
  if (leftOut === null) return send(routed);
  return after(withoutUnknown(call, leftOut), (inbound) =>
    after(send({ ...routed, call: { ...call, inbound } }), (outbound) => ({
      ...outbound,
      dropped: [...leftOut.dropped, ...outbound.dropped],
    })),
  );
}

function outboundIn(
  wire: WireDialect,
  routed: Routed,
  lane: LaneView,
  { styles, reader }: { readonly styles: SupplierStyles; readonly reader: Reader },
): Eventually<Outbound> {
  const { inbound, operation, serverTools } = routed.call;
  const isPassed = isSpoken(operation, wire);
  const target = {
    ...styles.of(lane.provider).target(lane),
    reads: reader.reads,
    withoutReasoning: reader.withoutReasoning,
  };
  const mends =
    isPassed && isText(operation) && operation.untouched !== true ? operation.dialect.mendRequest : null;
  const isMended = mends !== null && mends(inbound.body, target) !== null;
  const isPrinted =
    isText(operation) &&
    (!isPassed || isMended || serverTools.limits !== null || operation.keepsAnswers === true);
  const make = (body: JsonFields): Eventually<Outbound> =>
    isPassed
      ? after(passedOn(routed, body, wire), (passed) =>
          mended(passed, (text) => (isMended ? mends(text, target) : null)),
        )
      : translated(routed, body, { target, wire });
  return after(isPrinted ? readWritten(inbound, operation.dialect.written) : inbound.body, make);
}

type Eventually<T> = T | Promise<T>;

/** It takes no turn of the event loop where the value is there. */
const after = <T, R>(value: Eventually<T>, work: (value: T) => Eventually<R>): Eventually<R> =>
  value instanceof Promise ? value.then(work) : work(value);

function passedOn(
  { call, model }: Pick<RoutedCall, 'call' | 'model'>,
  body: JsonFields,
  wire: WireDialect,
): Eventually<Outbound> {
  const { operation } = call;
  const dialect = isText(operation) ? operation.dialect : null;
  return after(ownBody(call, body), (own): Eventually<Outbound> => {
    const { headers } = call.inbound;
    const limited = call.serverTools.insertedLimits.map(insertedLimit);
    const passed = { wire, dialect, body: own, headers, translation: null, dropped: limited };
    if (operation.keepsAnswers !== true || own.kind !== 'json') return passed;
    const wantsReasoning = own.text.body.store !== false && model.capabilities.has('reasoning');
    const { edits, dropped } = stateless(own.text.body, wantsReasoning);
    return after(editedJsonObject(own.text, edits), (text) => ({
      ...passed,
      body: { kind: 'json', text },
      dropped: [...limited, ...dropped],
    }));
  });
}

const insertedLimit = (name: string): Dropped => ({
  loss: 'approximated',
  path: name,
  name,
  reason: 'limited, because the request names no limit',
  at: name,
  count: 1,
});

/** The request with what a lane of the caller's dialect would refuse mended. */
function mended(outbound: Outbound, mends: (body: JsonFields) => Mended | null): Eventually<Outbound> {
  const { body } = outbound;
  const change = body.kind === 'json' ? mends(body.text.body) : null;
  if (body.kind !== 'json' || change === null) return outbound;
  const { dropped, ...edits } = change;
  return after(editedJsonObject(body.text, edits), (text) => ({
    ...outbound,
    body: { kind: 'json', text },
    dropped: [...outbound.dropped, ...dropped],
  }));
}

function translated(
  { call, held }: Pick<RoutedCall, 'call' | 'held'>,
  asked: JsonFields,
  { target: known, wire }: { target: Target; wire: WireDialect },
): Eventually<Outbound> {
  const { operation, inbound } = call;
  const dialect = dialectOf(wire);
  if (!isText(operation)) throw notServed();
  const request = valueOf(operation.dialect.decodeRequest(asked));
  const bounded = held.cappedOutput === null ? request : { ...request, maxOutputTokens: held.cappedOutput };
  const target = { ...known, maxOutputTokens: held.outputBound };
  const { body, reply, dropped } = valueOf(dialect.encodeRequest(bounded, target));
  return after(isLong(inbound) ? printedInSlices(body) : printedJsonObject(body), (text) => ({
    wire,
    dialect,
    body: { kind: 'json', text },
    headers: inbound.headers,
    translation: { reply, dropped: lostInConversion(call, dropped) },
    dropped: [],
  }));
}

/** The caller's bytes, with fields that suppliers require and limits for tools that had none. */
function ownBody({ inbound, operation, serverTools }: Call, body: JsonFields): Eventually<OutgoingBody> {
  const { form } = inbound;
  if (form !== null) return { kind: 'form', ...form };
  const text = { ...textOf(inbound), body };
  const { defaults = {} } = operation;
  const missing = Object.keys(defaults).filter((name) => body[name] === undefined || body[name] === null);
  const limits = serverTools.limits?.(body);
  if (missing.length === 0 && limits === undefined) return { kind: 'json', text };
  const set = { ...Object.fromEntries(missing.map((name) => [name, defaults[name]])), ...limits };
  return after(editedJsonObject(text, { set }), (edited) => ({ kind: 'json', text: edited }));
}

const textOf = ({ bytes, body, members, isRounded }: JsonObjectText): JsonObjectText => ({
  bytes,
  body,
  members,
  isRounded,
});

function dialectOf(wire: WireDialect): SupplierSide {
  if (wire === 'gemini') return gemini;
  if (wire === 'chat' || wire === 'messages' || wire === 'responses') return dialects[wire];
  throw notServed();
}

const notServed = (): Fault =>
  fault('configuration_error', { message: 'The supplier of this model does not serve this operation.' });

function valueOf<T>(result: Result<T, Fault>): T {
  if (!result.ok) throw result.error;
  return result.value;
}

/** A chat stream reports usage only on request. We always request it, and hide it from callers who did not. */
export const hidesUsage = ({ operation, stream, includeUsage }: Call): boolean =>
  stream && !includeUsage && isText(operation) && operation.dialect.name === 'chat';
