import { type Fault, type Result } from '../../kernel';
import {
  attempt,
  type CanonicalRequest,
  choiceFor,
  choiceOf,
  CUSTOM_TOOL_SCHEMA,
  type EncodedRequest,
  isNamed,
  isStrictSchema,
  type JsonObject,
  needSomething,
  present,
  refuseForcedChoice,
  resultsBehindCalls,
  strictFor,
  Tally,
  type Target,
  type Tool,
  ToolNames,
  type ToolReference,
  userOf,
} from '../canonical';
import { effortFor } from '../effort';
import { MessageWriter } from './encode-content';

const LONGEST_TOOL_NAME = 64;
const MOST_STOPS = 4;

export function encodeChatRequest(
  request: CanonicalRequest,
  options: Target = {},
): Result<EncodedRequest, Fault> {
  return attempt(() => {
    const own = request.source === 'chat';
    const target: Target = { customTools: own, reasoningHistory: own, ...options };
    const tally = new Tally();
    const names = new ToolNames(LONGEST_TOOL_NAME, request.tools.filter(isNamed), target.customTools);
    const writer = new MessageWriter(tally, names, target);
    for (const turn of request.system) writer.turn(turn);
    for (const turn of resultsBehindCalls(request.turns)) writer.turn(turn);
    needSomething(writer.messages, request);
    const body = present({
      model: target.model ?? request.model,
      messages: writer.messages,
      ...sampling(request, tally),
      [target.limitField ?? 'max_completion_tokens']: request.maxOutputTokens,
      response_format: encodeFormat(request),
      reasoning_effort: effortFor(request, target, tally),
      ...encodeTools(request, names, target, tally),
      stream: request.stream || undefined,
      stream_options: request.stream && request.includeUsage ? { include_usage: true } : undefined,
    });
    tally.carry('chat', body, request.opaque);
    return { body, dropped: tally.list(), reply: { tools: names } };
  });
}

function sampling(request: CanonicalRequest, tally: Tally): JsonObject {
  const { temperature, topP, topK, stop, seed, verbosity, source } = request;
  if (request.reasoning?.summary !== undefined) tally.dropped('reasoning.summary', 'unknown to the target');
  if (topK !== undefined && source !== 'chat') tally.dropped('top_k', 'unknown to the target');
  const user = userOf(request, tally);
  return {
    temperature,
    top_p: topP,
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
  for (const at of stop.slice(MOST_STOPS).keys()) {
    tally.dropped(`stop.${MOST_STOPS + at}`, `the target takes ${MOST_STOPS} sequences`);
  }
  return stop.length === 1 ? stop[0] : stop.slice(0, MOST_STOPS);
}

function encodeFormat({ responseFormat: format }: CanonicalRequest): JsonObject | undefined {
  if (!format) return undefined;
  if (format.type === 'text') return { type: 'text' };
  if (format.type === 'json') return { type: 'json_object' };
  const { schema, name = 'answer', description } = format;
  const strict = format.strict ?? (isStrictSchema(schema) || undefined);
  return { type: 'json_schema', json_schema: present({ name, description, schema, strict }) };
}

function encodeTools(request: CanonicalRequest, names: ToolNames, target: Target, tally: Tally): JsonObject {
  const tools = request.tools
    .map((tool) => encodeTool(tool, names, target, tally))
    .filter((tool) => tool !== undefined);
  if (tools.length === 0) {
    if (request.toolChoice && request.toolChoice.mode !== 'none') refuseForcedChoice(request, tally);
    return {};
  }
  return {
    tools,
    tool_choice: encodeChoice(request, names, target),
    parallel_tool_calls: request.parallelTools,
  };
}

function encodeTool(tool: Tool, names: ToolNames, target: Target, tally: Tally): JsonObject | undefined {
  if (tool.kind === 'opaque') {
    if (tool.dialect === 'chat') return tool.value;
    tally.dropped(tool.at, `the target has no tool of the type ${String(tool.value.type)}`);
    return undefined;
  }
  if (tool.cacheControl) tally.dropped(`${tool.at}.cache_control`, 'unknown to the target');
  const { description } = tool;
  const name = names.nameOf({ name: tool.name, namespace: tool.namespace?.name });
  if (tool.namespace) tally.approximated(tool.at, 'the namespace became a part of the name');
  if (tool.kind === 'custom') {
    if (target.customTools)
      return { type: 'custom', custom: present({ name, description, format: tool.format }) };
    tally.approximated(tool.at, 'offered as a function with one text');
    return { type: 'function', function: present({ name, description, parameters: CUSTOM_TOOL_SCHEMA }) };
  }
  const declared = present({ name, description, parameters: tool.schema, strict: strictFor(tool, tally) });
  const encoded: JsonObject = { type: 'function', function: declared };
  tally.carry('chat', encoded, tool.opaque);
  return encoded;
}

function encodeChoice(
  request: CanonicalRequest,
  names: ToolNames,
  target: Target,
): string | JsonObject | undefined {
  const choice = choiceFor(request, 'chat');
  if (!choice) return undefined;
  const reference = (tool: ToolReference): JsonObject => {
    const type = tool.custom && target.customTools ? 'custom' : 'function';
    return { type, [type]: { name: names.nameOf(tool) } };
  };
  return choiceOf(choice, reference, (allowed) => ({ type: 'allowed_tools', allowed_tools: allowed }));
}
