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
  needSomething,
  outputLimit,
  present,
  refuseWithoutTools,
  resultsBehindCalls,
  strictFor,
  strictFormat,
  Tally,
  type Target,
  type Tool,
  ToolNames,
  type ToolReference,
  userOf,
  withClientTools,
} from '../canonical';
import { effortFor } from '../effort';
import { MessageWriter } from './encode-content';

const LONGEST_TOOL_NAME = 64;
const MOST_STOPS = 4;

export function encodeChatRequest(
  given: CanonicalRequest,
  options: Target = {},
): Result<EncodedRequest, Fault> {
  return attempt(() => {
    const request = withClientTools(given, 'chat');
    const own = request.source === 'chat';
    const reasoningHistory = own || options.facts?.reasoningHistory === true;
    const target: Target = { customTools: own, reasoningHistory, ...options };
    const tally = new Tally();
    const names = new ToolNames(LONGEST_TOOL_NAME, request.tools.filter(isNamed), target.customTools);
    const writer = new MessageWriter(tally, names, target);
    for (const turn of request.system) writer.turn(turn);
    const format = encodeFormat(request, { own, writer, target, tally });
    for (const turn of resultsBehindCalls(request.turns)) writer.turn(turn);
    needSomething(writer.messages, request);
    const effort = chatEffort(request, target, tally);
    const body = present({
      model: target.model ?? request.model,
      messages: writer.messages,
      ...sampling(request, isThinking(effort, target), target, tally),
      [target.limitField ?? 'max_completion_tokens']: own
        ? request.maxOutputTokens
        : outputLimit(request, target, tally),
      response_format: format,
      reasoning_effort: effort,
      ...encodeTools(request, names, target, tally),
      stream: request.stream || undefined,
      stream_options: request.stream && request.includeUsage ? { include_usage: true } : undefined,
    });
    tally.carry('chat', body, request.opaque);
    if (!own) leaveOutRefused(body, target, tally);
    return { body, dropped: tally.list(), reply: { tools: names } };
  });
}

/** Where an effort beside tools is refused, the tools go before it. */
function chatEffort(request: CanonicalRequest, target: Target, tally: Tally): string | undefined {
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

const isThinking = (effort: string | undefined, { facts }: Target): boolean =>
  effort === undefined ? facts?.thinking?.unasked === true : effort !== 'none';

/** This model refuses these fields of the interface, in whichever dialect it was asked. */
function leaveOutRefused(body: JsonObject, { facts }: Target, tally: Tally): void {
  for (const name of facts?.chatRefuses ?? []) {
    if (body[name] === undefined) continue;
    delete body[name];
    tally.dropped(name, 'refused by the model');
  }
}

function sampling(
  request: CanonicalRequest,
  isThinking: boolean,
  { facts }: Target,
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
  const keeps = !isRefused || source === 'chat';
  return {
    temperature: keeps ? temperature : undefined,
    top_p: keeps ? topP : undefined,
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

interface FormatTools {
  readonly own: boolean;
  readonly writer: MessageWriter;
  readonly target: Target;
  readonly tally: Tally;
}

function encodeFormat(
  { responseFormat: format }: CanonicalRequest,
  { own, writer, target, tally }: FormatTools,
): JsonObject | undefined {
  if (!format) return undefined;
  if (format.type === 'text') return { type: 'text' };
  if (format.type === 'json') return { type: 'json_object' };
  const { schema, name = 'answer', description } = format;
  if (!own && target.facts?.schema === 'none') {
    tally.approximated('response_format', 'the schema is asked for in words');
    const words = `Answer with one JSON object that keeps to this JSON schema: ${printJson(schema)}`;
    writer.messages.push({ role: 'system', content: words });
    return { type: 'json_object' };
  }
  const strict = own ? format.strict : strictFormat(format, tally);
  return { type: 'json_schema', json_schema: present({ name, description, schema, strict }) };
}

function encodeTools(request: CanonicalRequest, names: ToolNames, target: Target, tally: Tally): JsonObject {
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

function encodeTool(tool: Tool, names: ToolNames, target: Target, tally: Tally): JsonObject | undefined {
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
