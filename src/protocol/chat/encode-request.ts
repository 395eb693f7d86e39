import { type Fault, printJson, type Result } from '../../kernel';
import {
  attempt,
  type CanonicalRequest,
  choiceFor,
  choiceOf,
  CUSTOM_TOOL_SCHEMA,
  dropTool,
  type EncodedRequest,
  isNamed,
  type JsonObject,
  requireContent,
  outputLimit,
  withoutUndefined,
  refuseWithoutTools,
  groupToolResults,
  strictFor,
  strictFormat,
  Tally,
  type EncodingTarget,
  type Tool,
  ToolNames,
  type ToolReference,
  userOf,
  withClientTools,
} from '../canonical';
import { effortFor } from '../effort';
import { MessageWriter } from './encode-content';

const MAX_TOOL_NAME_LENGTH = 64;
const MAX_STOP_SEQUENCES = 4;

export function encodeChatRequest(
  input: CanonicalRequest,
  options: EncodingTarget = {},
): Result<EncodedRequest, Fault> {
  return attempt(() => {
    const request = withClientTools(input, 'chat');
    const isNative = request.source === 'chat';
    const reasoningHistory = isNative || options.facts?.reasoningHistory === true;
    const target: EncodingTarget = { customTools: isNative, reasoningHistory, ...options };
    const tally = new Tally();
    const names = new ToolNames(MAX_TOOL_NAME_LENGTH, request.tools.filter(isNamed), target.customTools);
    const writer = new MessageWriter(tally, names, target);
    for (const turn of request.system) writer.turn(turn);
    const format = encodeFormat(request, { own: isNative, writer, target, tally });
    for (const turn of groupToolResults(request.turns)) writer.turn(turn);
    requireContent(writer.messages, request);
    const effort = chatEffort(request, target, tally);
    const body = withoutUndefined({
      model: target.model ?? request.model,
      messages: writer.messages,
      ...sampling(request, isThinking(effort, target), target, tally),
      [target.limitField ?? 'max_completion_tokens']: isNative
        ? request.maxOutputTokens
        : outputLimit(request, target, tally),
      response_format: format,
      reasoning_effort: effort,
      ...encodeTools(request, names, target, tally),
      stream: request.stream || undefined,
      stream_options: request.stream && request.includeUsage ? { include_usage: true } : undefined,
    });
    tally.carry('chat', body, request.opaque);
    if (!isNative) dropRefusedFields(body, target, tally);
    return { body, dropped: tally.list(), reply: { tools: names } };
  });
}

/** Resolves models that refuse an effort in addition to tools: the tools take precedence. */
function chatEffort(request: CanonicalRequest, target: EncodingTarget, tally: Tally): string | undefined {
  const effort = effortFor(request, target, tally, 'chat');
  const rule = request.tools.length > 0 ? target.facts?.chat : undefined;
  if (rule === 'tools-with-none') {
    if (effort !== undefined && effort !== 'none') tally.dropped('reasoning', 'not beside tools');
    return 'none';
  }
  if (rule !== 'tools-without-effort' || effort === undefined || effort === 'none') return effort;
  tally.dropped('reasoning', 'not beside tools');
  return undefined;
}

const isThinking = (effort: string | undefined, { facts }: EncodingTarget): boolean =>
  effort === undefined ? facts?.thinking?.unasked === true : effort !== 'none';

function dropRefusedFields(body: JsonObject, { facts }: EncodingTarget, tally: Tally): void {
  for (const name of facts?.chatRefuses ?? []) {
    if (body[name] === undefined) continue;
    delete body[name];
    tally.dropped(name, 'refused by the model');
  }
}

function sampling(
  request: CanonicalRequest,
  isThinking: boolean,
  { facts }: EncodingTarget,
  tally: Tally,
): JsonObject {
  const { temperature, topP, topK, stop, seed, verbosity, source } = request;
  if (request.reasoning?.summary !== undefined) tally.dropped('reasoning.summary', 'unknown to the target');
  if (topK !== undefined && source !== 'chat') tally.dropped('top_k', 'unknown to the target');
  const user = userOf(request, tally);
  const isRefused = facts?.sampling === 'refused' || (facts?.sampling === 'unless-thinking' && isThinking);
  if (isRefused && source !== 'chat') {
    if (temperature !== undefined) tally.dropped('temperature', 'refused by the model');
    if (topP !== undefined) tally.dropped('top_p', 'refused by the model');
  }
  const isSent = !isRefused || source === 'chat';
  return {
    temperature: isSent ? temperature : undefined,
    top_p: isSent ? topP : undefined,
    top_k: source === 'chat' ? topK : undefined,
    stop: stopsFor(stop, tally),
    seed,
    verbosity,
    user,
    metadata: request.metadata,
  };
}

function stopsFor(stop: readonly string[] | undefined, tally: Tally): string | readonly string[] | undefined {
  if (!stop || stop.length === 0) return undefined;
  for (const at of stop.slice(MAX_STOP_SEQUENCES).keys()) {
    tally.dropped(`stop.${MAX_STOP_SEQUENCES + at}`, `the target takes ${MAX_STOP_SEQUENCES} sequences`);
  }
  return stop.length === 1 ? stop[0] : stop.slice(0, MAX_STOP_SEQUENCES);
}

interface ChatFormatContext {
  readonly own: boolean;
  readonly writer: MessageWriter;
  readonly target: EncodingTarget;
  readonly tally: Tally;
}

function encodeFormat(
  { responseFormat: format }: CanonicalRequest,
  { own: isNative, writer, target, tally }: ChatFormatContext,
): JsonObject | undefined {
  if (!format) return undefined;
  if (format.type === 'text') return { type: 'text' };
  if (format.type === 'json') return { type: 'json_object' };
  const { schema, name = 'answer', description } = format;
  if (!isNative && target.facts?.schema === 'none') {
    tally.approximated('response_format', 'the schema is asked for in words');
    const instruction = `Answer with one JSON object that keeps to this JSON schema: ${printJson(schema)}`;
    writer.messages.push({ role: 'system', content: instruction });
    return { type: 'json_object' };
  }
  const strict = isNative ? format.strict : strictFormat(format, tally);
  return { type: 'json_schema', json_schema: withoutUndefined({ name, description, schema, strict }) };
}

function encodeTools(
  request: CanonicalRequest,
  names: ToolNames,
  target: EncodingTarget,
  tally: Tally,
): JsonObject {
  const tools = request.tools
    .map((tool) => encodeTool(tool, names, target, tally))
    .filter((tool) => tool !== undefined);
  if (tools.length === 0) {
    refuseWithoutTools(request, tally);
    return {};
  }
  return {
    tools,
    tool_choice: encodeChoice(request, names, target),
    parallel_tool_calls: request.parallelTools,
  };
}

function encodeTool(
  tool: Tool,
  names: ToolNames,
  target: EncodingTarget,
  tally: Tally,
): JsonObject | undefined {
  if (tool.kind === 'opaque') {
    if (tool.dialect === 'chat') return tool.value;
    dropTool(tool, tally);
    return undefined;
  }
  if (tool.cacheControl) tally.dropped(`${tool.at}.cache_control`, 'unknown to the target');
  const { description } = tool;
  const name = names.nameOf({ name: tool.name, namespace: tool.namespace?.name });
  if (tool.namespace) tally.approximated(tool.at, 'the namespace became a part of the name');
  if (tool.kind === 'custom') {
    if (target.customTools)
      return { type: 'custom', custom: withoutUndefined({ name, description, format: tool.format }) };
    tally.approximated(tool.at, 'offered as a function with one text');
    return {
      type: 'function',
      function: withoutUndefined({ name, description, parameters: CUSTOM_TOOL_SCHEMA }),
    };
  }
  const declared = withoutUndefined({
    name,
    description,
    parameters: tool.schema,
    strict: strictFor(tool, tally),
  });
  const encoded: JsonObject = { type: 'function', function: declared };
  tally.carry('chat', encoded, tool.opaque);
  return encoded;
}

function encodeChoice(
  request: CanonicalRequest,
  names: ToolNames,
  target: EncodingTarget,
): string | JsonObject | undefined {
  const choice = choiceFor(request, 'chat');
  if (!choice) return undefined;
  const reference = (tool: ToolReference): JsonObject => {
    const type = tool.custom && target.customTools ? 'custom' : 'function';
    return { type, [type]: { name: names.nameOf(tool) } };
  };
  return choiceOf(choice, reference, (allowed) => ({ type: 'allowed_tools', allowed_tools: allowed }));
}
