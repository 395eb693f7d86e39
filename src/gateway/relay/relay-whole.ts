import {
  fault,
  findSoleMember,
  type JsonFields,
  parseJsonText,
  printJson,
  readJsonText,
  type Usage,
  type WrittenFields,
} from '../../kernel';
import {
  type CanonicalAnswer,
  collect,
  type DecodedAnswer,
  errorIn,
  membersLacking,
  type ReplyContext,
  type SupplierError,
  type SupplierSide,
} from '../../protocol';
import { addStoredIds } from '../../vendors';
import { answeredName } from '../admission';
import { type Delivery, type LaneAnswer, markOf, type ReadError } from '../attempt';
import type { Call } from '../intake';
import { soldPictures } from '../media/pictures';
import { soldSound } from '../media/speech';
import { separateChoices } from '../operations/answer-shapes/chat-choices';
import { completionOf } from '../operations/answer-shapes/completions';
import { isText, type Operation, textOperation } from '../operations/operation';
import { chargedUsage, usageOfWhole, withServedUses } from '../settle';
import { answerId, echoOf, requestEcho } from './echo';
import { applyEdits, type Edit, memberEdits } from './edits';

/** Reads a whole answer; nothing of it leaves before settlement. A failure in its place is the lane's. */
export function relayWhole(
  answer: LaneAnswer,
  bytes: Buffer,
  readError: ReadError,
): Delivery<Buffer> | SupplierError {
  if (isBlank(bytes)) throw fault('empty_response');
  const { call } = answer.routed;
  const { operation } = call;
  const { dialect, translation } = answer.outbound;
  const isStreamed = isText(operation) && isEventStream(answer.contentType, bytes);
  if (dialect === null) return passOn(answer, bytes, readError);
  if (isStreamed && operation.name !== 'completions')
    return render(answer, decodedStreams(call, dialect, bytes, translation?.reply));
  if (translation === null) {
    if (!isStreamed) return passOn(answer, bytes, readError);
    return passOn(answer, Buffer.from(JSON.stringify(completionOf(bytes))), readError);
  }
  const body = parseAnswer(bytes, dialect.written);
  const error = errorIn(body, { checkAnswer: dialect.checkAnswer, readError });
  return error ?? render(answer, [dialect.decodeAnswer(body, translation.reply)]);
}

/** An answer in the caller's own dialect: the supplier's bytes with the model's name replaced. */
function passOn(answer: LaneAnswer, bytes: Buffer, readError: ReadError): Delivery<Buffer> | SupplierError {
  const { route, routed } = answer;
  const { call } = routed;
  const { operation, speech, inbound } = call;
  const told = isRaw(answer) ? null : parseAnswer(bytes);
  const error = errorIn(told ?? errorBody(bytes), { checkAnswer: operation.checkAnswer, readError });
  if (error !== undefined) return error;
  const wrong = told === null ? undefined : operation.checkAnswer(told, inbound.body);
  if (wrong !== undefined) throw wrong;
  if (told !== null) answer.span?.named(told.model, told.id);
  const written = (): number => (told === null ? bytes.length : textBytesIn(operation, told));
  const reported = soldPictures(operation.usageIn(told, inbound.body), route.price.rates);
  const reading = soldSound(reported, call, route.price.rates, { sound: bytes, textBytes: written });
  // Speech is counted here, as no reliable report exists.
  const isCounted = speech !== null && reading.kind === 'ok';
  const read = isCounted ? reading.usage : usageOfWhole(reading, routed, written);
  const usage = chargedUsage(withServedUses(read, call, told), answer, answer.outbound);
  return {
    by: answer,
    status: answer.status,
    usage,
    finishReason: isText(operation) && told !== null ? operation.dialect.finishReasonIn(told) : null,
    calls: call.auto !== null && isText(operation) ? operation.dialect.callsIn(told) : [],
    seals: isText(operation) && told !== null ? operation.dialect.sealsIn(told) : [],
    ...(isText(operation) &&
      told !== null && { stored: addStoredIds(new Map(), operation.dialect.name, told) }),
    firstTokenMs: null,
    dropped: answer.dropped,
    problem: null,
    body: told === null ? bytes : shaped(answer, bytes, told, usage),
  };
}

/** Such an answer is sound or plain text, which is passed on as it came. */
const isRaw = ({ routed: { call }, contentType }: LaneAnswer): boolean =>
  call.operation.answersRaw?.(call.inbound.body) === true && !isMarkup.test(contentType);

/** The body of a whole answer, as its caller gets it. */
export const contentTypeOf = (answer: LaneAnswer): string =>
  isRaw(answer)
    ? answer.secrets.blankedText(answer.contentType) || 'application/octet-stream'
    : 'application/json';

/** Adapts the answer and its name. Unchanged bytes stay, such as numbers that a double would round. */
function shaped({ routed, route }: LaneAnswer, bytes: Buffer, told: JsonFields, usage: Usage): Buffer {
  const { call } = routed;
  const { operation, inbound } = call;
  const { form, shape } = operation;
  const ours = answeredName(routed);
  const theirs = toldModel(told);
  const model = ours ?? theirs ?? route.lane.upstreamModel;
  const answer = shape?.(told, inbound.body) ?? told;
  const isNamed = form !== undefined || answer.model !== undefined;
  const lacking =
    form === undefined
      ? {}
      : membersLacking(form, answer, { usage, requestId: inbound.requestId, request: requestEcho(call) });
  if (answer !== told)
    return Buffer.from(JSON.stringify({ ...answer, ...lacking, ...(isNamed ? { model } : {}) }));
  if (!isNamed) return bytes;
  const names = ours === null && theirs !== null ? [] : namesIn(bytes, told, model);
  const edits = [...names, ...memberEdits(bytes, [], { ...lacking, ...echoOf(call) })];
  return applyEdits(bytes, 0, edits.length === 1 ? edits : edits.sort((a, b) => a.start - b.start));
}

const toldModel = ({ model }: JsonFields): string | null =>
  typeof model === 'string' && model !== '' ? model : null;

/** The position of the model's name, found by a search where that is conclusive. */
function namesIn(bytes: Buffer, told: JsonFields, model: string): Edit[] {
  const sole = Object.hasOwn(told, 'model') ? findSoleMember(bytes.toString('latin1'), 'model') : null;
  if (sole === null) return memberEdits(bytes, [], { model });
  return [{ ...sole, text: Buffer.from(JSON.stringify(model)) }];
}

/** The decoded answer, or answers, in the caller's dialect. */
function render(answer: LaneAnswer, decoded: readonly DecodedAnswer[]): Delivery<Buffer> {
  const { outbound, routed } = answer;
  const { call } = routed;
  const operation = textOperation(call.operation);
  const answers = decoded.map(({ events }) => answerIn(events));
  const reported = decoded.map(({ usage }) => usage).findLast(({ kind }) => kind !== 'absent');
  const read = usageOfWhole(reported ?? { kind: 'absent' }, routed, () =>
    answers.reduce((sum, each) => sum + textBytesOf(each), 0),
  );
  const usage = chargedUsage(read, answer, outbound);
  const encoded = answers.map((each) =>
    operation.dialect.encodeAnswer(
      { ...each, usage },
      {
        ...answerId(operation),
        echo: requestEcho(call),
        requestId: call.inbound.requestId,
        model: answeredName(routed) ?? (each.model || answer.route.lane.upstreamModel),
        lane: markOf(answer.route.lane.provider),
      },
    ),
  );
  const { finish, model: theirs, id } = answers[0]!;
  answer.span?.named(theirs, id);
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

function answerIn(events: DecodedAnswer['events']): CanonicalAnswer {
  const collected = collect(events);
  if (!collected.ok) throw collected.error;
  const { finish, blocks } = collected.value;
  if (finish.raw === null && blocks.length === 0) throw fault('empty_response');
  return collected.value;
}

/** Several answers are the choices of one. */
function withChoices([first, ...others]: readonly JsonFields[]): JsonFields {
  if (first === undefined || others.length === 0) return first ?? {};
  const choices = [first, ...others].flatMap(({ choices: own }) =>
    Array.isArray(own) ? (own as JsonFields[]) : [],
  );
  return { ...first, choices: choices.map((choice, index) => ({ ...choice, index })) };
}

/** A decoder reads one answer: several answers have a stream each. */
const decodedStreams = (
  { operation, choices }: Call,
  side: SupplierSide,
  bytes: Buffer,
  reply?: ReplyContext,
): DecodedAnswer[] =>
  (operation.name === 'chat' && choices > 1 ? separateChoices(bytes) : [bytes]).map((each) =>
    decodedStream(side, each, reply),
  );

function decodedStream(side: SupplierSide, bytes: Buffer, reply: Partial<ReplyContext> = {}): DecodedAnswer {
  const events: DecodedAnswer['events'][number][] = [];
  const decoder = side.streamDecoder({ emit: (event) => events.push(event), ...reply });
  decoder.push(bytes);
  decoder.end();
  return { events, usage: decoder.usage, dropped: decoder.dropped };
}

/** An answer holds so much text, for when its supplier reports no usage. */
function textBytesIn(operation: Operation, body: JsonFields): number {
  if (operation.writtenIn !== undefined) return operation.writtenIn(body);
  if (!isText(operation)) return 0;
  const collected = collect(operation.dialect.decodeAnswer(body).events);
  return collected.ok ? textBytesOf(collected.value) : 0;
}

/** As in a stream, the name of a tool is text that was generated. */
const textBytesOf = ({ blocks }: CanonicalAnswer): number =>
  blocks.reduce(
    (sum, block) =>
      sum + Buffer.byteLength(block.type === 'tool' ? block.name + block.arguments : block.text),
    0,
  );

const isMarkup = /json|html|event-stream/i;
const OPEN_OBJECT = 0x7b;
const BLANKS: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d]);
const LONGEST_SPACE = 1024;

/** The first byte that is no blank; what is blank for longer than that is taken for blank. */
function firstByte(bytes: Buffer): number | undefined {
  for (let at = 0; at < Math.min(bytes.length, LONGEST_SPACE); at += 1) {
    if (!BLANKS.has(bytes[at]!)) return bytes[at];
  }
  return undefined;
}

const isBlank = (bytes: Buffer): boolean => firstByte(bytes) === undefined;

/** Some suppliers stream unasked and without the content type. No JSON begins like an event. */
const isEventStream = (contentType: string, bytes: Buffer): boolean =>
  firstByte(bytes) !== OPEN_OBJECT &&
  (/event-stream/i.test(contentType) ||
    /^\s*(?:data|event|id|retry)?:/.test(bytes.toString('latin1', 0, LONGEST_SPACE)));

/** Sound and plain text are forwarded unread, unless they are a JSON error. */
function errorBody(bytes: Buffer): unknown {
  if (firstByte(bytes) !== OPEN_OBJECT) return undefined;
  try {
    return parseAnswer(bytes);
  } catch {
    return undefined;
  }
}

function parseAnswer(bytes: Buffer, written?: WrittenFields): Record<string, unknown> {
  const text = bytes.toString('utf8');
  let value: unknown;
  try {
    value = written === undefined ? parseJsonText(text) : readJsonText(text, written);
  } catch {
    // The parser's message quotes the text, which may hold secrets.
    throw fault('non_json_provider_response');
  }
  if (typeof value !== 'object' || value === null) throw fault('upstream_invalid_response');
  return value as Record<string, unknown>;
}
