import { type Fault, type Result } from '../../kernel';
import {
  attempt,
  type CanonicalRequest,
  closedSchema,
  type EncodedRequest,
  isOpenSchema,
  isNamed,
  type JsonObject,
  needSomething,
  outputLimit,
  present,
  resultsBehindCalls,
  Tally,
  type Target,
  ToolNames,
  withClientTools,
} from '../canonical';
import { ConversationWriter } from './encode-content';
import { Enforcement } from './enforceable';
import { encodeTools, type ToolFields } from './encode-tools';
import { boundThinking, thinkingFor } from './thinking';

const LONGEST_TOOL_NAME = 128;
const DEFAULT_OUTPUT = 4096;
const ANSWER_TOOL = 'json_answer';

export function encodeMessagesRequest(
  given: CanonicalRequest,
  options: Target = {},
): Result<EncodedRequest, Fault> {
  return attempt(() => {
    const request = withClientTools(given, 'messages');
    const own = request.source === 'messages';
    const target: Target = { systemInTurns: own, ...options };
    const tally = new Tally();
    const names = new ToolNames(LONGEST_TOOL_NAME, request.tools.filter(isNamed));
    const writer = new ConversationWriter(tally, names, target);
    const turns = resultsBehindCalls(request.turns);
    for (const turn of request.system) writer.lead(turn);
    for (const turn of turns) writer.turn(turn);
    const enforcement = new Enforcement();
    const format = structuredAnswer(request, { target, enforcement, writer, tally });
    const tools = unforced(
      withAnswerTool(encodeTools(request, names, { target, enforcement }, tally), format.tool),
      {
        target,
        writer,
        tally,
      },
    );
    const asked = own ? request.maxOutputTokens : outputLimit(request, target, tally);
    const limit =
      asked ?? Math.min(target.maxOutputTokens ?? DEFAULT_OUTPUT, target.facts?.maxOutput ?? Infinity);
    const isForced = /^(any|tool)$/.test(String(tools.tool_choice?.type));
    const thinking = thinkingFor(request, { target, limit, isForced, turns }, tally);
    const config = present({ effort: thinking.effort, format: format.native });
    const messages = writer.finish();
    needSomething(messages, request);
    if (!own && target.facts?.prefill === false) writer.answerable(messages);
    const body = present({
      model: target.model ?? request.model,
      system: writer.plainSystem,
      messages,
      max_tokens: limit,
      ...sampling(request, isThinking(thinking.thinking, target), target, tally),
      ...tools,
      thinking: boundThinking(thinking.thinking, target, isForced ? [] : messages),
      cache_control: cacheMarkFor(request, target),
      output_config: Object.keys(config).length > 0 ? config : undefined,
      stream: request.stream || undefined,
      metadata: metadataOf(request, tally),
    });
    tally.carry('messages', body, request.opaque);
    return { body, dropped: tally.list(), reply: { tools: names, textTool: format.tool?.name } };
  });
}

const isThinking = (asked: JsonObject | undefined, { facts }: Target): boolean =>
  asked === undefined ? facts?.thinking?.unasked === true : asked.type !== 'disabled';

/** Callers of other dialects cannot say what to cache. A mark pays where the prompt comes again with the next turn. */
function cacheMarkFor(
  { source, system, turns, tools }: CanonicalRequest,
  target: Target,
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

function sampling(request: CanonicalRequest, isThinking: boolean, target: Target, tally: Tally): JsonObject {
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
  // Newer models refuse the two together; the temperature is the one that callers mean.
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

interface AnswerTool {
  readonly name: string;
  readonly description: string;
  readonly input_schema: JsonObject;
}

interface FormatTools {
  readonly target: Target;
  readonly enforcement: Enforcement;
  readonly writer: ConversationWriter;
  readonly tally: Tally;
}

/** A wish for JSON: as a format where the schema allows it, as a tool that must be called, or in words. */
function structuredAnswer(
  request: CanonicalRequest,
  { target, enforcement, writer, tally }: FormatTools,
): { native?: JsonObject; tool?: AnswerTool } {
  const format = request.responseFormat;
  if (!format || format.type === 'text') return {};
  if (format.type === 'json') {
    tally.approximated('response_format', 'asked for in words');
    writer.system.push({ type: 'text', text: 'Answer with one JSON object and nothing else.' });
    return {};
  }
  const { schema, description } = format;
  const isOwn = request.source === 'messages';
  if (isOwn && target.structuredOutput !== 'tool') return { native: { type: 'json_schema', schema } };
  const enforced =
    target.structuredOutput === 'tool' ? undefined : enforcedSchema(schema, target, enforcement);
  if (enforcement.moved) tally.approximated('response_format', 'bounds of the schema became descriptions');
  if (enforced !== undefined) return { native: { type: 'json_schema', schema: enforced } };
  tally.approximated('response_format', 'expressed as a tool that must be called');
  const name = request.tools.some((tool) => tool.name === ANSWER_TOOL) ? `${ANSWER_TOOL}_2` : ANSWER_TOOL;
  const input = schema.type === 'object' ? schema : { ...schema, type: 'object' };
  const text = description ?? 'Gives the answer. Call it exactly once, with the whole answer.';
  return { tool: { name, description: text, input_schema: input } };
}

/** A model that cannot be forced to call a tool is told to in words. */
function unforced(
  fields: ToolFields,
  { target, writer, tally }: { target: Target; writer: ConversationWriter; tally: Tally },
): ToolFields {
  const { tool_choice: choice } = fields;
  if (target.facts?.forcedTools !== false || !/^(any|tool)$/.test(String(choice?.type))) return fields;
  tally.approximated('tool_choice', 'asked for in words');
  const { type: _type, name, ...alone } = choice ?? {};
  const which = typeof name === 'string' ? `the tool "${name}"` : 'one of the tools';
  writer.system.push({ type: 'text', text: `Answer by calling ${which}.` });
  return { ...fields, tool_choice: { type: 'auto', ...alone } };
}

/** Where nothing is known of the model, only whether objects are closed is looked at. */
function enforcedSchema(
  schema: JsonObject,
  { facts }: Target,
  enforcement: Enforcement,
): JsonObject | undefined {
  if (facts?.schema === 'anthropic') return enforcement.take(schema);
  return isOpenSchema(schema) ? undefined : closedSchema(schema);
}

/** Beside other tools the model may still choose one of those first; it may not answer in plain words. */
function withAnswerTool(fields: ToolFields, answer: AnswerTool | undefined): ToolFields {
  if (!answer) return fields;
  const alone = fields.tools === undefined;
  return {
    tools: [...(fields.tools ?? []), { ...answer }],
    tool_choice: alone ? { type: 'tool', name: answer.name } : { type: 'any' },
  };
}
