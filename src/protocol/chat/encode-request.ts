import { type Fault, type Result } from '../../kernel';
import {
  attempt,
  type CanonicalRequest,
  type EncodedRequest,
  isStrictSchema,
  type JsonObject,
  type NamedTool,
  present,
  resultsBehindCalls,
  Tally,
  type Target,
  type Tool,
  type ToolChoice,
  ToolNames,
  type ToolReference,
  unsupported,
} from '../canonical';
import { effortFor } from '../effort';
import { MessageWriter } from './encode-content';

const LONGEST_TOOL_NAME = 64;
const MOST_STOPS = 4;
const LONGEST_USER = 64;

export const isNamed = (tool: Tool): tool is NamedTool => tool.kind !== 'opaque';

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

/** Some clients put a whole session into it; the field is made for a short identifier. */
export function userOf({ user, source }: CanonicalRequest, tally: Tally): string | undefined {
  if (user === undefined || source !== 'messages' || user.length <= LONGEST_USER) return user;
  tally.dropped('metadata.user_id', `longer than ${LONGEST_USER} characters`);
  return undefined;
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
  const tools = request.tools.flatMap((tool) => encodeTool(tool, names, target, tally) ?? []);
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

/** A tool that must be called and cannot be offered leaves nothing to ask for. */
export function refuseForcedChoice({ toolChoice }: CanonicalRequest, tally: Tally): void {
  if (toolChoice?.mode === 'tool' || toolChoice?.mode === 'required') {
    throw unsupported('tool_choice', 'None of the tools can be offered to this model, so none can be required.');
  }
  tally.dropped('tool_choice', 'there is no tool to choose');
}

/** What a tool that takes plain text looks like to a model that knows only functions. */
export const CUSTOM_TOOL_SCHEMA = {
  type: 'object',
  properties: { input: { type: 'string' } },
  required: ['input'],
  additionalProperties: false,
};

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
    if (target.customTools) return { type: 'custom', custom: present({ name, description, format: tool.format }) };
    tally.approximated(tool.at, 'offered as a function with one text');
    return { type: 'function', function: present({ name, description, parameters: CUSTOM_TOOL_SCHEMA }) };
  }
  const declared = present({ name, description, parameters: tool.schema, strict: strictFor(tool, tally) });
  const encoded: JsonObject = { type: 'function', function: declared };
  tally.carry('chat', encoded, tool.opaque);
  return encoded;
}

/** Strict here asks more of a schema than elsewhere; one that does not meet it would be refused. */
export function strictFor(
  tool: Extract<Tool, { kind: 'function' }>,
  tally: Tally,
): boolean | undefined {
  if (!tool.strict || !tool.schema || isStrictSchema(tool.schema)) return tool.strict;
  tally.dropped(`${tool.at}.strict`, 'the schema has optional or further properties');
  return undefined;
}

function encodeChoice(
  { toolChoice: choice }: CanonicalRequest,
  names: ToolNames,
  target: Target,
): string | JsonObject | undefined {
  if (!choice) return undefined;
  const reference = (tool: ToolReference): JsonObject => {
    const type = tool.custom && target.customTools ? 'custom' : 'function';
    return { type, [type]: { name: names.nameOf(tool) } };
  };
  return choiceOf(choice, reference, (allowed) => ({ type: 'allowed_tools', allowed_tools: allowed }));
}

export function choiceOf(
  choice: ToolChoice,
  reference: (tool: ToolReference) => JsonObject,
  wrap: (allowed: JsonObject) => JsonObject,
): string | JsonObject {
  if (choice.mode === 'tool') return reference(choice.tool);
  if (choice.mode !== 'allowed') return choice.mode;
  return wrap({ mode: choice.required ? 'required' : 'auto', tools: choice.tools.map(reference) });
}
