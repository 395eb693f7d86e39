import { type Fault, type Result } from '../../kernel';
import {
  attempt,
  type CanonicalRequest,
  closedSchema,
  type EncodedRequest,
  isOpenSchema,
  isNamed,
  type JsonObject,
  requireContent,
  outputLimit,
  withoutUndefined,
  groupToolResults,
  Tally,
  type EncodingTarget,
  ToolNames,
  withClientTools,
} from '../canonical';
import { ConversationWriter } from './encode-content';
import { Enforcement } from './enforceable';
import { encodeTools, type ToolFields } from './encode-tools';
import { withBlockBinding, thinkingFor } from './thinking';

const MAX_TOOL_NAME_LENGTH = 128;
const DEFAULT_OUTPUT_TOKENS = 4096;
const RESPONSE_TOOL_NAME = 'json_answer';

export function encodeMessagesRequest(
  input: CanonicalRequest,
  options: EncodingTarget = {},
): Result<EncodedRequest, Fault> {
  return attempt(() => {
    const request = withClientTools(input, 'messages');
    const isNative = request.source === 'messages';
    const target: EncodingTarget = { systemInTurns: isNative, ...options };
    const tally = new Tally();
    const names = new ToolNames(MAX_TOOL_NAME_LENGTH, request.tools.filter(isNamed));
    const writer = new ConversationWriter(tally, names, target);
    const turns = groupToolResults(request.turns);
    for (const turn of request.system) writer.addSystem(turn);
    for (const turn of turns) writer.turn(turn);
    const enforcement = new Enforcement();
    const format = structuredResponse(request, { target, enforcement, writer, tally });
    const tools = withoutForcedTool(
      withResponseTool(encodeTools(request, names, { target, enforcement }, tally), format.tool),
      {
        target,
        writer,
        tally,
      },
    );
    const requestedLimit = isNative ? request.maxOutputTokens : outputLimit(request, target, tally);
    const limit =
      requestedLimit ??
      Math.min(target.maxOutputTokens ?? DEFAULT_OUTPUT_TOKENS, target.facts?.maxOutput ?? Infinity);
    const isForced = /^(any|tool)$/.test(String(tools.tool_choice?.type));
    const thinking = thinkingFor(request, { target, limit, isForced, turns }, tally);
    const config = withoutUndefined({ effort: thinking.effort, format: format.native });
    const messages = writer.finish();
    requireContent(messages, request);
    if (!isNative && target.facts?.prefill === false) writer.ensureUserLast(messages);
    const body = withoutUndefined({
      model: target.model ?? request.model,
      system: writer.plainSystem,
      messages,
      max_tokens: limit,
      ...sampling(request, isThinking(thinking.thinking, target), target, tally),
      ...tools,
      thinking: withBlockBinding(thinking.thinking, target, isForced ? [] : messages),
      cache_control: cacheMarkFor(request, target),
      output_config: Object.keys(config).length > 0 ? config : undefined,
      stream: request.stream || undefined,
      metadata: metadataOf(request, tally),
    });
    tally.carry('messages', body, request.opaque);
    return { body, dropped: tally.list(), reply: { tools: names, textTool: format.tool?.name } };
  });
}

const isThinking = (thinking: JsonObject | undefined, { facts }: EncodingTarget): boolean =>
  thinking === undefined ? facts?.thinking?.unasked === true : thinking.type !== 'disabled';

/**
 * Adds a cache mark for callers of other dialects, which cannot set one, if the prompt will probably be repeated in the
 * next turn.
 */
function cacheMarkFor(
  { source, system, turns, tools }: CanonicalRequest,
  target: EncodingTarget,
): JsonObject | undefined {
  if (source === 'messages' || !target.cacheMark) return undefined;
  const isContinued = tools.length > 0 || turns.some(({ role }) => role === 'assistant');
  const parts = [...system, ...turns, ...tools].flatMap((part) => [
    part,
    ...('blocks' in part ? part.blocks : []),
  ]);
  const isMarked = parts.some(({ cacheControl }) => cacheControl !== undefined);
  return isContinued && !isMarked ? { type: 'ephemeral' } : undefined;
}

function sampling(
  request: CanonicalRequest,
  isThinking: boolean,
  target: EncodingTarget,
  tally: Tally,
): JsonObject {
  const { temperature, topP, topK, stop, seed, verbosity, source } = request;
  if (seed !== undefined) tally.dropped('seed', 'unknown to the target');
  if (verbosity !== undefined) tally.dropped('verbosity', 'unknown to the target');
  const stops = stop?.filter((text) => text.trim() !== '');
  if (stop && stops!.length < stop.length) tally.dropped('stop', 'a blank stop sequence');
  const common = { stop_sequences: stops && stops.length > 0 ? stops : undefined };
  if (source === 'messages') return { temperature, top_p: topP, top_k: topK, ...common };
  if (target.facts?.sampling === 'refused') {
    if (temperature !== undefined && temperature !== 1) tally.dropped('temperature', 'refused by the model');
    if (topP !== undefined && topP !== 1) tally.dropped('top_p', 'refused by the model');
    if (topK !== undefined) tally.dropped('top_k', 'refused by the model');
    return common;
  }
  if (isThinking) {
    if (temperature !== undefined && temperature !== 1) tally.dropped('temperature', 'not while thinking');
    if (topP !== undefined && topP < 0.95) tally.dropped('top_p', 'not while thinking');
    if (topK !== undefined) tally.dropped('top_k', 'not while thinking');
    return { top_p: topP !== undefined && topP >= 0.95 ? topP : undefined, ...common };
  }
  if (temperature !== undefined && temperature > 1) tally.approximated('temperature', 'at most 1');
  // Newer models refuse the combination; callers usually intend the temperature.
  const both = temperature !== undefined && topP !== undefined;
  if (both && topP < 1) tally.dropped('top_p', 'not together with a temperature');
  const clamped = temperature === undefined ? undefined : Math.min(temperature, 1);
  return { temperature: clamped, top_p: both ? undefined : topP, top_k: topK, ...common };
}

function metadataOf({ user, metadata }: CanonicalRequest, tally: Tally): JsonObject | undefined {
  for (const name of Object.keys(metadata ?? {})) {
    if (name !== 'user_id') tally.dropped(`metadata.${name}`, 'unknown to the target');
  }
  const id = user ?? metadata?.user_id;
  return typeof id === 'string' ? { user_id: id } : undefined;
}

interface ResponseFormatTool {
  readonly name: string;
  readonly description: string;
  readonly input_schema: JsonObject;
}

interface MessagesFormatContext {
  readonly target: EncodingTarget;
  readonly enforcement: Enforcement;
  readonly writer: ConversationWriter;
  readonly tally: Tally;
}

/** Encodes a JSON format natively if the schema allows it, otherwise as a forced tool or as an instruction. */
function structuredResponse(
  request: CanonicalRequest,
  { target, enforcement, writer, tally }: MessagesFormatContext,
): { native?: JsonObject; tool?: ResponseFormatTool } {
  const format = request.responseFormat;
  if (!format || format.type === 'text') return {};
  if (format.type === 'json') {
    tally.approximated('response_format', 'asked for in words');
    writer.system.push({ type: 'text', text: 'Answer with one JSON object and nothing else.' });
    return {};
  }
  const { schema, description } = format;
  const isNative = request.source === 'messages';
  if (isNative && target.structuredOutput !== 'tool') return { native: { type: 'json_schema', schema } };
  const enforced =
    target.structuredOutput === 'tool' ? undefined : enforcedSchema(schema, target, enforcement);
  if (enforcement.hasMovedKeywords)
    tally.approximated('response_format', 'bounds of the schema became descriptions');
  if (enforced !== undefined) return { native: { type: 'json_schema', schema: enforced } };
  tally.approximated('response_format', 'expressed as a tool that must be called');
  const name = request.tools.some((tool) => tool.name === RESPONSE_TOOL_NAME)
    ? `${RESPONSE_TOOL_NAME}_2`
    : RESPONSE_TOOL_NAME;
  const input = schema.type === 'object' ? schema : { ...schema, type: 'object' };
  const text = description ?? 'Gives the answer. Call it exactly once, with the whole answer.';
  return { tool: { name, description: text, input_schema: input } };
}

/** Replaces a forced tool choice by an instruction for models that do not support forcing. */
function withoutForcedTool(
  fields: ToolFields,
  { target, writer, tally }: { target: EncodingTarget; writer: ConversationWriter; tally: Tally },
): ToolFields {
  const { tool_choice: choice } = fields;
  if (target.facts?.forcedTools !== false || !/^(any|tool)$/.test(String(choice?.type))) return fields;
  tally.approximated('tool_choice', 'asked for in words');
  const { type: _type, name, ...rest } = choice ?? {};
  const which = typeof name === 'string' ? `the tool "${name}"` : 'one of the tools';
  writer.system.push({ type: 'text', text: `Answer by calling ${which}.` });
  return { ...fields, tool_choice: { type: 'auto', ...rest } };
}

/** For unknown models, only checks that objects can be closed. */
function enforcedSchema(
  schema: JsonObject,
  { facts }: EncodingTarget,
  enforcement: Enforcement,
): JsonObject | undefined {
  if (facts?.schema === 'anthropic') return enforcement.enforce(schema);
  return isOpenSchema(schema) ? undefined : closedSchema(schema);
}

/** Next to other tools the model can call one of those first, but it cannot respond in plain text. */
function withResponseTool(fields: ToolFields, tool: ResponseFormatTool | undefined): ToolFields {
  if (!tool) return fields;
  const isOnlyTool = fields.tools === undefined;
  return {
    tools: [...(fields.tools ?? []), { ...tool }],
    tool_choice: isOnlyTool ? { type: 'tool', name: tool.name } : { type: 'any' },
  };
}
