import { fault, findSoleMember, parseJsonText } from '../../kernel';
import {
  type CanonicalAnswer,
  collect,
  type DecodedAnswer,
  errorIn,
  type ReplyContext,
  type SupplierError,
  type SupplierSide,
} from '../../protocol';
import { answerId } from '../responses/answer-id';
import { echoOf } from '../responses/echo';
import type { LaneAnswer, WholeDelivery } from './answered';
import { completionOf } from './answer-shapes/completions';
import { usageOfWhole } from './delivery';
import { separateChoices } from './answer-shapes/chat-choices';
import type { Call } from './describe';
import { withServedUses } from './fees';
import type { Inbound } from './inbound';
import { soldPictures } from './pictures';
import { soldSound } from './speech';
import { applyEdits, type Edit, memberEdits } from './stream/edits';
import { isText, type Surface } from './surface';

type Body = Readonly<Record<string, unknown>>;

/** A supplier's answer, and how its style reads the failures that one may hold. */
export interface WholeBody {
  readonly bytes: Buffer;
  readonly readError: (body: unknown) => SupplierError | undefined;
}

/** Takes in a whole answer; nothing of it leaves before it is settled. A failure in its place is the lane's. */
export function relayWhole(
  inbound: Inbound,
  call: Call,
  answered: LaneAnswer,
  whole: WholeBody,
): WholeDelivery | SupplierError {
  const { bytes } = whole;
  if (isBlank(bytes)) throw fault('empty_response');
  const { surface } = call;
  const { dialect, translation } = answered.outbound;
  const isStreamed = isText(surface) && isEventStream(answered.contentType, bytes);
  if (dialect === null) return passOn(inbound, call, answered, whole);
  if (isStreamed && surface.name !== 'completions')
    return render(inbound, call, answered, decodedStreams(call, dialect, bytes, translation?.reply));
  if (translation === null) {
    if (!isStreamed) return passOn(inbound, call, answered, whole);
    const collected = completionOf(bytes);
    return passOn(inbound, call, answered, { ...whole, bytes: Buffer.from(JSON.stringify(collected)) });
  }
  const body = parseAnswer(bytes);
  const error = errorIn(body, { checkAnswer: dialect.checkAnswer, readError: whole.readError });
  return error ?? render(inbound, call, answered, [dialect.decodeAnswer(body, translation.reply)]);
}

/** An answer in the caller's own dialect: the supplier's bytes, but for the name of the model. */
function passOn(
  inbound: Inbound,
  call: Call,
  answered: LaneAnswer,
  { bytes, readError }: WholeBody,
): WholeDelivery | SupplierError {
  const { surface, speech } = call;
  const { contentType, limits, route, model, secrets } = answered;
  const isRaw = surface.answersRaw?.(inbound.body) === true && !isMarkup.test(contentType);
  const told = isRaw ? null : parseAnswer(bytes);
  const error = errorIn(told ?? errorBody(bytes), { checkAnswer: surface.checkAnswer, readError });
  if (error !== undefined) return error;
  const wrong = told === null ? undefined : surface.checkAnswer(told);
  if (wrong !== undefined) throw wrong;
  const written = (): number => (told === null ? bytes.length : textBytesIn(surface, told));
  const reported = soldPictures(surface.usageIn(told, inbound.body), route.price.rates);
  const reading = soldSound(reported, call, route.price.rates, { sound: bytes, textBytes: written });
  // Speech is counted here, by no report that could be wrong.
  const isCounted = speech !== null && reading.kind === 'ok';
  const usage = isCounted ? reading.usage : usageOfWhole(reading, call, limits, written);
  return {
    body: told === null ? bytes : shaped(inbound, surface, { bytes, told, model }),
    contentType: isRaw ? secrets.blankedText(contentType) || 'application/octet-stream' : 'application/json',
    usage: withServedUses(usage, call, told),
    finishReason: isText(surface) && told !== null ? surface.dialect.finishReasonIn(told) : null,
    firstTokenMs: null,
    dropped: [],
    problem: null,
  };
}

interface Told {
  readonly bytes: Buffer;
  readonly told: Body;
  readonly model: string;
}

/** As the caller asked for it, under the name of the catalogue. Other bytes stay, as numbers that a double would round. */
function shaped(inbound: Inbound, surface: Surface, { bytes, told, model }: Told): Buffer {
  const answer = surface.shape?.(told, inbound.body) ?? told;
  const isNamed = isText(surface) || answer.model !== undefined;
  if (answer !== told) return Buffer.from(JSON.stringify(isNamed ? { ...answer, model } : answer));
  if (!isNamed) return bytes;
  const edits = [...namesIn(bytes, told, model), ...memberEdits(bytes, [], told, echoOf(surface, inbound))];
  return applyEdits(bytes, 0, edits.length === 1 ? edits : edits.sort((a, b) => a.start - b.start));
}

/** Where the name of the model stands, found by a search where that settles it. */
function namesIn(bytes: Buffer, told: Body, model: string): Edit[] {
  const sole = Object.hasOwn(told, 'model') ? findSoleMember(bytes.toString('latin1'), 'model') : null;
  if (sole === null) return memberEdits(bytes, [], told, { model });
  return [{ ...sole, text: Buffer.from(JSON.stringify(model)) }];
}

/** What was understood, in the dialect of the caller: an answer, or as many as were asked for. */
function render(
  inbound: Inbound,
  call: Call,
  { outbound, limits, model }: LaneAnswer,
  decoded: readonly DecodedAnswer[],
): WholeDelivery {
  const { surface } = call;
  if (!isText(surface)) throw fault('internal_error');
  const answers = decoded.map(({ events }) => answerIn(events));
  const reported = decoded.map(({ usage }) => usage).findLast(({ kind }) => kind !== 'absent');
  const usage = usageOfWhole(reported ?? { kind: 'absent' }, call, limits, () =>
    answers.reduce((sum, answer) => sum + textBytesOf(answer), 0),
  );
  const encoded = answers.map((answer) =>
    surface.dialect.encodeAnswer(answer, {
      ...answerId(surface),
      echo: echoOf(surface, inbound),
      requestId: inbound.requestId,
      model,
      estimate: () => usage,
    }),
  );
  const { finish } = answers[0]!;
  return {
    body: Buffer.from(JSON.stringify(withChoices(encoded.map(({ body }) => body)))),
    contentType: 'application/json',
    usage,
    finishReason: finish.raw ?? finish.unified,
    firstTokenMs: null,
    dropped: [
      ...(outbound.translation?.dropped ?? []),
      ...decoded.flatMap(({ dropped }) => dropped),
      ...encoded.flatMap(({ dropped }) => dropped),
    ],
    problem: null,
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
function withChoices([first, ...others]: readonly Body[]): Body {
  if (first === undefined || others.length === 0) return first ?? {};
  const choices = [first, ...others].flatMap(({ choices: own }) =>
    Array.isArray(own) ? (own as Body[]) : [],
  );
  return { ...first, choices: choices.map((choice, index) => ({ ...choice, index })) };
}

/** A decoder reads one answer: where several were asked for, each has a stream of its own. */
const decodedStreams = (
  { surface, choices }: Call,
  side: SupplierSide,
  bytes: Buffer,
  reply?: ReplyContext,
): DecodedAnswer[] =>
  (surface.name === 'chat' && choices > 1 ? separateChoices(bytes) : [bytes]).map((each) =>
    decodedStream(side, each, reply),
  );

function decodedStream(side: SupplierSide, bytes: Buffer, reply: Partial<ReplyContext> = {}): DecodedAnswer {
  const events: DecodedAnswer['events'][number][] = [];
  const decoder = side.streamDecoder({ emit: (event) => events.push(event), ...reply });
  decoder.push(bytes);
  decoder.end();
  return { events, usage: decoder.usage, dropped: decoder.dropped };
}

/** How much text an answer holds, for when nobody reports it. */
function textBytesIn(surface: Surface, body: Body): number {
  if (surface.writtenIn !== undefined) return surface.writtenIn(body);
  if (!isText(surface)) return 0;
  const collected = collect(surface.dialect.decodeAnswer(body).events);
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

/** Some suppliers stream whatever was asked, and do not always say so. No JSON begins like an event. */
const isEventStream = (contentType: string, bytes: Buffer): boolean =>
  /event-stream/i.test(contentType)
    ? firstByte(bytes) !== OPEN_OBJECT
    : /^\s*(?:data|event|id|retry)?:/.test(bytes.toString('latin1', 0, LONGEST_SPACE));

/** Sound and plain text are passed on unread, unless they are the JSON of an error. */
function errorBody(bytes: Buffer): unknown {
  if (firstByte(bytes) !== OPEN_OBJECT) return undefined;
  try {
    return parseAnswer(bytes);
  } catch {
    return undefined;
  }
}

function parseAnswer(bytes: Buffer): Record<string, unknown> {
  let value: unknown;
  try {
    value = parseJsonText(bytes.toString('utf8'));
  } catch {
    // The parser's complaint quotes the text, which may hold anything.
    throw fault('non_json_provider_response');
  }
  if (typeof value !== 'object' || value === null) throw fault('upstream_invalid_response');
  return value as Record<string, unknown>;
}
