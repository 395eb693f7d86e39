import type { GateRecord, RequestRecord } from '../../audit';
import { type AskedFees, fault, NOTHING_ASKED, regionNamed } from '../../kernel';
import { pick, type RequestMeasure, textAlone } from '../../protocol';
import { AUTO } from './auto';
import { NO_NEEDS, type WireNeeds } from '../../routing';
import { type StoredId, thinkingBeside } from '../../vendors';
import { NO_SOUND, type Recording, type SoundTokens } from '../media/audio';
import { inputEstimateOf, textBound } from '../media/input-size';
import { type Speech, speechIn } from '../media/speech';
import { checkBounds } from '../operations/bounds';
import { isConversation, isText, type Operation } from '../operations/operation';
import { readNames, type UnknownNames } from './field-names';
import type { Inbound } from './inbound';
import { checkLabels, endUserOf, tagsOf } from './labels';
import { type ServerTools, serverToolsOf } from './server-tools';
import { sessionOf } from './session';
import { MAX_THINKING_TOKENS } from './thinking';

/** The trace says how `auto` chose the model of a request. */
export interface AutoTrace {
  /** The record says why, and which model answered in the end. */
  explained(answeredBy: string | null): RequestRecord['autoDecision'];
  /** The caller reads `<model>; <reason>; <dial>`. */
  told(answeredBy: string): string;
  /** The traffic of the organisation is other than what was learned. */
  readonly isOfChangedTraffic: boolean;
  /** Settles once the next turn of the conversation finds its model, and results the one that made these calls. */
  whenRemembered(calls: readonly string[]): Promise<void>;
}

/** A request as far as the gateway interprets it; everything else is between the caller and the supplier. */
export interface Call {
  readonly inbound: Inbound;
  readonly operation: Operation;
  readonly model: string;
  /** The request leaves the choice of its model to the service. */
  readonly byAuto: boolean;
  /** It is null where the request names its model. */
  readonly auto: AutoTrace | null;
  readonly stream: boolean;
  /** The caller wants the usage chunk that chat streams carry only on demand. */
  readonly includeUsage: boolean;
  /** The request asks for so many answers. */
  readonly choices: number;
  /** The most calls it can be charged for. */
  readonly calls: number;
  /** Names that the route does not know: only some suppliers get them. */
  readonly unknown: UnknownNames;
  /** Ids of content that a supplier stores. */
  readonly stored: readonly StoredId[];
  /** Unknown names are forwarded, so that only the model's own limits bound the cost. */
  readonly isUnbounded: boolean;
  /** This recording is to be transcribed; null where something else is asked. */
  readonly recording: Recording | null;
  /** This text is to be spoken; null where something else is asked. */
  readonly speech: Speech | null;
  /** The caller's own bound on each answer; null when there is none. */
  readonly maxOutputTokens: number | null;
  /** Tokens of each answer that a supplier can bill beyond the caller's bound. */
  readonly writtenBeside: number;
  /** Tokens of thinking beyond that bound which the request asks for, on lanes that take the field. */
  readonly thinkingBeside: number;
  /** It may make a supplier bill these fees beside the tokens of its text. */
  readonly fees: AskedFees;
  /** It is null where the caller names no region. */
  readonly region: string | null;
  /** The conversation it says it belongs to; null when it says nothing. */
  readonly session: string | null;
  /** The request is made for this user, in the caller's words; null when it does not say. */
  readonly endUser: string | null;
  /** The caller sorts its requests by these tags; null when there are none. */
  readonly tags: readonly string[] | null;
  /** These parts of it decide on the supplier's wire. */
  readonly needs: WireNeeds;
  /** A conversation carries this beside its text; null where something else is asked. */
  readonly measure: RequestMeasure | null;
  /** The tokens of its recordings. */
  readonly sound: SoundTokens;
  readonly serverTools: ServerTools;
  /** An upper bound of the tokens in the text. */
  readonly textBound: number;
  /** An estimate of the input tokens: charged when the supplier reports no usage. */
  readonly inputEstimate: number;
  /** The verdicts of gates so far; null where the installation has none. */
  readonly gates: GateRecord[] | null;
}

const MODEL_LENGTH = 256;
const REGION_LENGTH = 64;
const MOST_CHOICES = 128;
const MAX_COUNTED_TOKENS = 100_000_000;

/** Reads the envelope by hand: a validator would cost more than the rest of this stage. Its sound is measured apart. */
export function describeCall(
  inbound: Inbound,
  operation: Operation,
  gates: GateRecord[] | null = null,
  recording: Recording | null = null,
): Call {
  const { body, bytes } = inbound;
  const { unknown, stored } = readNames(inbound, operation);
  checkBounds(operation.bounds, body);
  checkLabels(body);
  if (recording === null) requireAsked(body[operation.asked], operation);
  const speech = operation.speaks === true ? speechIn(body, bytes.length) : null;
  const sound = recording ?? speech;
  const model = modelIn(body.model ?? operation.defaults?.model);
  const n = countIn(body.n, 'n', MOST_CHOICES) ?? 1;
  const choices = operation.choices?.(body) ?? n;
  const carried = isText(operation) ? operation.dialect.measureRequest(body) : null;
  const measure = isConversation(operation) ? carried : null;
  const serverTools = serverToolsOf(carried ?? textAlone, operation);
  return {
    inbound,
    operation,
    model,
    byAuto: model === AUTO,
    auto: null,
    stream: isText(operation) && (booleanIn(body.stream, 'stream') ?? false),
    includeUsage: wantsUsage(body.stream_options),
    choices,
    calls: operation.calls?.(body, bytes.length) ?? choices,
    unknown,
    stored,
    isUnbounded: false,
    recording,
    speech,
    fees: operation.fees?.(body, choices, serverTools.tools) ?? NOTHING_ASKED,
    maxOutputTokens:
      sound?.outputBound ?? firstCount(body, operation.limitFields) ?? operation.usualOutput ?? null,
    writtenBeside: Math.min(MAX_COUNTED_TOKENS, carried?.predictedTokens ?? 0),
    thinkingBeside: thinkingBesideOf(body, operation),
    session: sessionOf(inbound),
    endUser: endUserOf(body),
    tags: tagsOf(body),
    region: regionIn(body.region),
    needs: isConversation(operation) ? needsOf(body) : NO_NEEDS,
    measure,
    sound: NO_SOUND,
    serverTools,
    textBound:
      sound?.inputBound ??
      operation.textBound?.(body, bytes.length) ??
      textBound(Math.max(0, bytes.length - (measure?.mediaBytes ?? 0))),
    inputEstimate: recording?.inputEstimate ?? inputEstimateOf(measure ?? textAlone, bytes.length),
    gates,
  };
}

export const withSound = (call: Call, sound: SoundTokens): Call => ({
  ...call,
  sound,
  inputEstimate: call.inputEstimate + sound.estimate,
});

function needsOf({ tools, ...body }: Inbound['body']): WireNeeds {
  const effort = effortIn(body);
  const thinking = pick(body.thinking, 'type');
  const thinks = effort !== null || (typeof thinking === 'string' && thinking !== 'disabled');
  return { tools: Array.isArray(tools) && tools.length > 0, effort, thinks };
}

/** Every dialect has a place of its own for it. */
function effortIn({ reasoning_effort, output_config, reasoning }: Inbound['body']): string | null {
  const effort = reasoning_effort ?? pick(output_config, 'effort') ?? pick(reasoning, 'effort');
  return typeof effort === 'string' ? effort : null;
}

function thinkingBesideOf(body: Inbound['body'], operation: Operation): number {
  if (!isText(operation) || operation.dialect.name !== 'chat') return 0;
  return Math.min(MAX_COUNTED_TOKENS, thinkingBeside(body, MAX_THINKING_TOKENS));
}

function modelIn(model: unknown): string {
  if (model === undefined || model === null || model === '') throw fault('missing_model', { param: 'model' });
  if (typeof model === 'string' && model.length <= MODEL_LENGTH) return model;
  throw fault('invalid_request', { param: 'model', message: 'model must be the id of a model.' });
}

/** A list with something in it, or, but for conversations of two dialects, a text. */
function requireAsked(value: unknown, { asked }: Operation): void {
  const isFilled = Array.isArray(value)
    ? value.length > 0
    : asked !== 'messages' && value !== '' && typeof value === 'string';
  if (isFilled) return;
  throw fault('invalid_request', { param: asked, message: `${asked} must not be empty.` });
}

function booleanIn(value: unknown, param: string): boolean | null {
  if (value === undefined || value === null) return null;
  if (typeof value === 'boolean') return value;
  throw fault('invalid_request', { param, message: `${param} must be true or false.` });
}

function textIn(value: unknown, param: string, most: number): string | null {
  if (value === undefined || value === null) return null;
  if (typeof value === 'string' && value !== '' && value.length <= most) return value;
  throw fault('invalid_request', {
    param,
    message: `${param} must be a text of at most ${most} characters.`,
  });
}

function regionIn(value: unknown): string | null {
  return textIn(typeof value === 'string' ? regionNamed(value) : value, 'region', REGION_LENGTH);
}

function firstCount(body: Readonly<Record<string, unknown>>, names: readonly string[]): number | null {
  for (const name of names) {
    const count = countIn(body[name], name, MAX_COUNTED_TOKENS);
    if (count !== null) return count;
  }
  return null;
}

function countIn(value: unknown, param: string, most: number): number | null {
  if (value === undefined || value === null) return null;
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= most) return value;
  throw fault('invalid_request', {
    param,
    message: `${param} must be a whole number from 1 to ${most.toLocaleString('en')}.`,
  });
}

const wantsUsage = (options: unknown): boolean =>
  typeof options === 'object' && options !== null && Reflect.get(options, 'include_usage') === true;
