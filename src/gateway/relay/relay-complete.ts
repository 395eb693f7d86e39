import {
  fault,
  findSoleMember,
  type JsonFields,
  parseJsonText,
  printJson,
  readJsonText,
  type Usage,
  type VerbatimFields,
} from '../../kernel';
import {
  type CanonicalResponse,
  collect,
  type DecodedResponse,
  errorIn,
  missingMembers,
  type ReplyContext,
  type SupplierError,
  type SupplierDialect,
} from '../../protocol';
import { addStoredIds } from '../../vendors';
import { responseModelName } from '../admission';
import { type Delivery, type LaneResponse, markOf, type ReadError } from '../attempt';
import type { GatewayCall } from '../intake';
import { chargedPictures } from '../media/pictures';
import { chargedAudioUsage } from '../media/speech';
import { separateChoices } from '../operations/answer-shapes/chat-choices';
import { joinCompletion } from '../operations/answer-shapes/completions';
import { isText, type GatewayOperation, textOperation } from '../operations/operation';
import { chargedUsage, usageOfComplete, withServedUses } from '../settle';
import { newResponseId, echoOf, requestEcho } from './echo';
import { applyEdits, type StreamEdit, memberEdits } from './stream-edits';

/**
 * Reads a non-streaming response, which is sent only after settlement. Returns the lane's error if the body holds one.
 */
export function relayComplete(
  answer: LaneResponse,
  bytes: Buffer,
  readError: ReadError,
): Delivery<Buffer> | SupplierError {
  if (isBlank(bytes)) throw fault('empty_response');
  const { call } = answer.routed;
  const { operation } = call;
  const { dialect, translation } = answer.outbound;
  const isStreamed = isText(operation) && isEventStream(answer.contentType, bytes);
  if (dialect === null) return passThrough(answer, bytes, readError);
  if (isStreamed && operation.name !== 'completions')
    return render(answer, decodedStreams(call, dialect, bytes, translation?.reply));
  if (translation === null) {
    if (!isStreamed) return passThrough(answer, bytes, readError);
    return passThrough(answer, Buffer.from(JSON.stringify(joinCompletion(bytes))), readError);
  }
  const body = parseAnswer(bytes, dialect.written);
  const error = errorIn(body, { checkAnswer: dialect.checkAnswer, readError });
  return error ?? render(answer, [dialect.decodeAnswer(body, translation.reply)]);
}

function passThrough(
  answer: LaneResponse,
  bytes: Buffer,
  readError: ReadError,
): Delivery<Buffer> | SupplierError {
  const { route, routed } = answer;
  const { call } = routed;
  const { operation, speech, inbound } = call;
  const parsedBody = isRaw(answer) ? null : parseAnswer(bytes);
  const error = errorIn(parsedBody ?? errorBody(bytes), { checkAnswer: operation.checkAnswer, readError });
  if (error !== undefined) return error;
  const invalidAnswer = parsedBody === null ? undefined : operation.checkAnswer(parsedBody, inbound.body);
  if (invalidAnswer !== undefined) throw invalidAnswer;
  if (parsedBody !== null) answer.span?.recordNames(parsedBody.model, parsedBody.id);
  const countTextBytes = (): number =>
    parsedBody === null ? bytes.length : textBytesIn(operation, parsedBody);
  const reported = chargedPictures(operation.usageIn(parsedBody, inbound.body), route.price.rates);
  const reading = chargedAudioUsage(reported, call, route.price.rates, {
    sound: bytes,
    textBytes: countTextBytes,
  });
  // Speech is counted here, as suppliers do not report it reliably.
  const isCounted = speech !== null && reading.kind === 'ok';
  const measuredUsage = isCounted ? reading.usage : usageOfComplete(reading, routed, countTextBytes);
  const usage = chargedUsage(withServedUses(measuredUsage, call, parsedBody), answer, answer.outbound);
  return {
    by: answer,
    status: answer.status,
    usage,
    finishReason:
      isText(operation) && parsedBody !== null ? operation.dialect.finishReasonIn(parsedBody) : null,
    calls: call.auto !== null && isText(operation) ? operation.dialect.callsIn(parsedBody) : [],
    seals: isText(operation) && parsedBody !== null ? operation.dialect.sealsIn(parsedBody) : [],
    ...(isText(operation) &&
      parsedBody !== null && { stored: addStoredIds(new Map(), operation.dialect.name, parsedBody) }),
    firstTokenMs: null,
    dropped: answer.dropped,
    problem: null,
    body: parsedBody === null ? bytes : adaptBody(answer, bytes, parsedBody, usage),
  };
}

/** Returns true for audio or plain text, which is passed through unchanged. */
const isRaw = ({ routed: { call }, contentType }: LaneResponse): boolean =>
  call.operation.answersRaw?.(call.inbound.body) === true && !markupType.test(contentType);

export const contentTypeOf = (answer: LaneResponse): string =>
  isRaw(answer)
    ? answer.secrets.redactText(answer.contentType) || 'application/octet-stream'
    : 'application/json';

/** Adapts the body and the model's name. Other bytes stay unchanged, such as numbers that a double would round. */
function adaptBody(
  { routed, route }: LaneResponse,
  bytes: Buffer,
  parsedBody: JsonFields,
  usage: Usage,
): Buffer {
  const { call } = routed;
  const { operation, inbound } = call;
  const { form, shape } = operation;
  const callerModel = responseModelName(routed);
  const supplierModel = reportedModel(parsedBody);
  const model = callerModel ?? supplierModel ?? route.lane.upstreamModel;
  const answer = shape?.(parsedBody, inbound.body) ?? parsedBody;
  const isNamed = form !== undefined || answer.model !== undefined;
  const addedMembers =
    form === undefined
      ? {}
      : missingMembers(form, answer, { usage, requestId: inbound.requestId, request: requestEcho(call) });
  if (answer !== parsedBody)
    return Buffer.from(JSON.stringify({ ...answer, ...addedMembers, ...(isNamed ? { model } : {}) }));
  if (!isNamed) return bytes;
  const nameEdits =
    callerModel === null && supplierModel !== null ? [] : modelNameEdits(bytes, parsedBody, model);
  const edits = [...nameEdits, ...memberEdits(bytes, [], { ...addedMembers, ...echoOf(call) })];
  return applyEdits(bytes, 0, edits.length === 1 ? edits : edits.sort((a, b) => a.start - b.start));
}

const reportedModel = ({ model }: JsonFields): string | null =>
  typeof model === 'string' && model !== '' ? model : null;

/** Edits of the model's name, located by a text search if that is conclusive. */
function modelNameEdits(bytes: Buffer, parsedBody: JsonFields, model: string): StreamEdit[] {
  const range = Object.hasOwn(parsedBody, 'model') ? findSoleMember(bytes.toString('latin1'), 'model') : null;
  if (range === null) return memberEdits(bytes, [], { model });
  return [{ ...range, text: Buffer.from(JSON.stringify(model)) }];
}

function render(answer: LaneResponse, decoded: readonly DecodedResponse[]): Delivery<Buffer> {
  const { outbound, routed } = answer;
  const { call } = routed;
  const operation = textOperation(call.operation);
  const answers = decoded.map(({ events }) => collectAnswer(events));
  const reported = decoded.map(({ usage }) => usage).findLast(({ kind }) => kind !== 'absent');
  const measuredUsage = usageOfComplete(reported ?? { kind: 'absent' }, routed, () =>
    answers.reduce((sum, each) => sum + textBytesOf(each), 0),
  );
  const usage = chargedUsage(measuredUsage, answer, outbound);
  const encoded = answers.map((each) =>
    operation.dialect.encodeAnswer(
      { ...each, usage },
      {
        ...newResponseId(operation),
        echo: requestEcho(call),
        requestId: call.inbound.requestId,
        model: responseModelName(routed) ?? (each.model || answer.route.lane.upstreamModel),
        lane: markOf(answer.route.lane.provider),
      },
    ),
  );
  const { finish, model: supplierModel, id } = answers[0]!;
  answer.span?.recordNames(supplierModel, id);
  return {
    by: answer,
    status: answer.status,
    usage,
    finishReason: finish.raw ?? finish.unified,
    calls: call.auto === null ? [] : encoded.flatMap(({ body }) => operation.dialect.callsIn(body)),
    firstTokenMs: null,
    dropped: [
      ...answer.dropped,
      ...decoded.flatMap(({ dropped }) => dropped),
      ...encoded.flatMap(({ dropped }) => dropped),
    ],
    problem: null,
    body: Buffer.from(printJson(withChoices(encoded.map(({ body }) => body)))),
  };
}

function collectAnswer(events: DecodedResponse['events']): CanonicalResponse {
  const collected = collect(events);
  if (!collected.ok) throw collected.error;
  const { finish, blocks } = collected.value;
  if (finish.raw === null && blocks.length === 0) throw fault('empty_response');
  return collected.value;
}

function withChoices([first, ...others]: readonly JsonFields[]): JsonFields {
  if (first === undefined || others.length === 0) return first ?? {};
  const choices = [first, ...others].flatMap(({ choices: ownChoices }) =>
    Array.isArray(ownChoices) ? (ownChoices as JsonFields[]) : [],
  );
  return { ...first, choices: choices.map((choice, index) => ({ ...choice, index })) };
}

/** A decoder reads one response, so several choices get a decoder each. */
const decodedStreams = (
  { operation, choices }: GatewayCall,
  side: SupplierDialect,
  bytes: Buffer,
  reply?: ReplyContext,
): DecodedResponse[] =>
  (operation.name === 'chat' && choices > 1 ? separateChoices(bytes) : [bytes]).map((each) =>
    decodedStream(side, each, reply),
  );

function decodedStream(
  side: SupplierDialect,
  bytes: Buffer,
  reply: Partial<ReplyContext> = {},
): DecodedResponse {
  const events: DecodedResponse['events'][number][] = [];
  const decoder = side.streamDecoder({ emit: (event) => events.push(event), ...reply });
  decoder.push(bytes);
  decoder.end();
  return { events, usage: decoder.usage, dropped: decoder.dropped };
}

function textBytesIn(operation: GatewayOperation, body: JsonFields): number {
  if (operation.writtenIn !== undefined) return operation.writtenIn(body);
  if (!isText(operation)) return 0;
  const collected = collect(operation.dialect.decodeAnswer(body).events);
  return collected.ok ? textBytesOf(collected.value) : 0;
}

/** The name of a tool counts as generated text, as in a stream. */
const textBytesOf = ({ blocks }: CanonicalResponse): number =>
  blocks.reduce(
    (sum, block) =>
      sum + Buffer.byteLength(block.type === 'tool' ? block.name + block.arguments : block.text),
    0,
  );

const markupType = /json|html|event-stream/i;
const OPEN_OBJECT = 0x7b;
const BLANKS: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d]);
const MAX_LEADING_BLANKS = 1024;

function firstNonBlankByte(bytes: Buffer): number | undefined {
  for (let index = 0; index < Math.min(bytes.length, MAX_LEADING_BLANKS); index += 1) {
    if (!BLANKS.has(bytes[index]!)) return bytes[index];
  }
  return undefined;
}

const isBlank = (bytes: Buffer): boolean => firstNonBlankByte(bytes) === undefined;

/** Some suppliers stream unasked and without the content type. No JSON starts like an event. */
const isEventStream = (contentType: string, bytes: Buffer): boolean =>
  firstNonBlankByte(bytes) !== OPEN_OBJECT &&
  (/event-stream/i.test(contentType) ||
    /^\s*(?:data|event|id|retry)?:/.test(bytes.toString('latin1', 0, MAX_LEADING_BLANKS)));

/** Audio and plain text are forwarded unread, unless they are a JSON error. */
function errorBody(bytes: Buffer): unknown {
  if (firstNonBlankByte(bytes) !== OPEN_OBJECT) return undefined;
  try {
    return parseAnswer(bytes);
  } catch {
    return undefined;
  }
}

function parseAnswer(bytes: Buffer, written?: VerbatimFields): Record<string, unknown> {
  const text = bytes.toString('utf8');
  let value: unknown;
  try {
    value = written === undefined ? parseJsonText(text) : readJsonText(text, written);
  } catch {
    // The parser's message quotes the text, which could contain secrets.
    throw fault('non_json_provider_response');
  }
  if (typeof value !== 'object' || value === null) throw fault('upstream_invalid_response');
  return value as Record<string, unknown>;
}
