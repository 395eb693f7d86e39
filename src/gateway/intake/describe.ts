import type { GateRecord, RequestRecord } from '../../audit';
import { type RequestedFees, fault, NO_REQUESTED_FEES, normaliseRegion } from '../../kernel';
import { pick, type RequestMeasure, textOnlyMeasure } from '../../protocol';
import { AUTO } from './auto';
import { NO_NEEDS, type WireNeeds } from '../../routing';
import { type StoredId, additionalThinkingTokens } from '../../vendors';
import { NO_SOUND, type Recording, type SoundTokens } from '../media/audio';
import { inputEstimateOf, textBound } from '../media/input-size';
import { type Speech, speechIn } from '../media/speech';
import { checkFields } from '../operations/field-rules';
import { isConversation, isText, type GatewayOperation } from '../operations/operation';
import { readNames, type UnknownNames } from './field-names';
import type { Inbound } from './inbound';
import { checkLabels, endUserOf, tagsOf } from './labels';
import { type ServerTools, serverToolsOf } from './server-tools';
import { sessionOf } from './session';
import { MAX_THINKING_TOKENS } from './thinking';

export interface AutoTrace {
  explain(answeredBy: string | null): RequestRecord['autoDecision'];
  /** Header text for the caller: `<model>; <reason>; <dial>`. */
  headerText(answeredBy: string): string;
  readonly hasTrafficChanged: boolean;
  /** Settles once the next turn of the conversation, or results of these tool calls, can find the model. */
  whenRemembered(calls: readonly string[]): Promise<void>;
}

/** A request as far as the gateway interprets it; the rest is between the caller and the supplier. */
export interface GatewayCall {
  readonly inbound: Inbound;
  readonly operation: GatewayOperation;
  readonly model: string;
  readonly byAuto: boolean;
  readonly auto: AutoTrace | null;
  readonly stream: boolean;
  /** True if the caller asked for the usage chunk, which chat streams send on request only. */
  readonly includeUsage: boolean;
  readonly choices: number;
  readonly calls: number;
  readonly unknown: UnknownNames;
  readonly stored: readonly StoredId[];
  readonly isUnbounded: boolean;
  readonly recording: Recording | null;
  readonly speech: Speech | null;
  readonly maxOutputTokens: number | null;
  readonly extraOutputTokens: number;
  /** Thinking tokens beyond that limit that the request asks for, on lanes that take the field. */
  readonly extraThinkingTokens: number;
  readonly fees: RequestedFees;
  readonly region: string | null;
  readonly session: string | null;
  readonly endUser: string | null;
  readonly tags: readonly string[] | null;
  readonly needs: WireNeeds;
  readonly measure: RequestMeasure | null;
  readonly sound: SoundTokens;
  readonly serverTools: ServerTools;
  readonly textBound: number;
  readonly inputEstimate: number;
  readonly gates: GateRecord[] | null;
}

const MAX_MODEL_LENGTH = 256;
const MAX_REGION_LENGTH = 64;
const MAX_CHOICES = 128;
const MAX_COUNTED_TOKENS = 100_000_000;

/**
 * Reads the envelope by hand: a validator would cost more than the rest of this stage. Sound is measured separately.
 */
export function describeCall(
  inbound: Inbound,
  operation: GatewayOperation,
  gates: GateRecord[] | null = null,
  recording: Recording | null = null,
): GatewayCall {
  const { body, bytes } = inbound;
  const { unknown, stored } = readNames(inbound, operation);
  checkFields(operation.bounds, body);
  checkLabels(body);
  if (recording === null) requireInput(body[operation.asked], operation);
  const speech = operation.speaks === true ? speechIn(body, bytes.length) : null;
  const sound = recording ?? speech;
  const model = modelIn(body.model ?? operation.defaults?.model);
  const n = countIn(body.n, 'n', MAX_CHOICES) ?? 1;
  const choices = operation.choices?.(body) ?? n;
  const textMeasure = isText(operation) ? operation.dialect.measureRequest(body) : null;
  const measure = isConversation(operation) ? textMeasure : null;
  const serverTools = serverToolsOf(textMeasure ?? textOnlyMeasure, operation);
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
    fees: operation.fees?.(body, choices, serverTools.tools) ?? NO_REQUESTED_FEES,
    maxOutputTokens:
      sound?.outputBound ?? firstCount(body, operation.limitFields) ?? operation.usualOutput ?? null,
    extraOutputTokens: Math.min(MAX_COUNTED_TOKENS, textMeasure?.predictedTokens ?? 0),
    extraThinkingTokens: extraThinkingOf(body, operation),
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
    inputEstimate: recording?.inputEstimate ?? inputEstimateOf(measure ?? textOnlyMeasure, bytes.length),
    gates,
  };
}

export const withSound = (call: GatewayCall, sound: SoundTokens): GatewayCall => ({
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

function effortIn({ reasoning_effort, output_config, reasoning }: Inbound['body']): string | null {
  const effort = reasoning_effort ?? pick(output_config, 'effort') ?? pick(reasoning, 'effort');
  return typeof effort === 'string' ? effort : null;
}

function extraThinkingOf(body: Inbound['body'], operation: GatewayOperation): number {
  if (!isText(operation) || operation.dialect.name !== 'chat') return 0;
  return Math.min(MAX_COUNTED_TOKENS, additionalThinkingTokens(body, MAX_THINKING_TOKENS));
}

function modelIn(model: unknown): string {
  if (model === undefined || model === null || model === '') throw fault('missing_model', { param: 'model' });
  if (typeof model === 'string' && model.length <= MAX_MODEL_LENGTH) return model;
  throw fault('invalid_request', { param: 'model', message: 'model must be the id of a model.' });
}

/** Accepts a list that is not empty or, except for `messages`, a text. */
function requireInput(value: unknown, { asked }: GatewayOperation): void {
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

function textIn(value: unknown, param: string, maxLength: number): string | null {
  if (value === undefined || value === null) return null;
  if (typeof value === 'string' && value !== '' && value.length <= maxLength) return value;
  throw fault('invalid_request', {
    param,
    message: `${param} must be a text of at most ${maxLength} characters.`,
  });
}

function regionIn(value: unknown): string | null {
  return textIn(typeof value === 'string' ? normaliseRegion(value) : value, 'region', MAX_REGION_LENGTH);
}

function firstCount(body: Readonly<Record<string, unknown>>, names: readonly string[]): number | null {
  for (const name of names) {
    const count = countIn(body[name], name, MAX_COUNTED_TOKENS);
    if (count !== null) return count;
  }
  return null;
}

function countIn(value: unknown, param: string, max: number): number | null {
  if (value === undefined || value === null) return null;
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= max) return value;
  throw fault('invalid_request', {
    param,
    message: `${param} must be a whole number from 1 to ${max.toLocaleString('en')}.`,
  });
}

const wantsUsage = (options: unknown): boolean =>
  typeof options === 'object' && options !== null && Reflect.get(options, 'include_usage') === true;
