import { type Fault, type Result } from '../../kernel';
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
  type NamedTool,
  requireContent,
  outputLimit,
  withoutUndefined,
  refuseWithoutTools,
  groupToolResults,
  strictFor,
  strictFormat,
  type SystemTurn,
  Tally,
  type EncodingTarget,
  ToolNames,
  type ToolReference,
  userOf,
  withClientTools,
} from '../canonical';
import { cannotThink, effortFor } from '../effort';
import { ItemWriter } from './encode-items';

const MAX_TOOL_NAME_LENGTH = 64;
const MIN_OUTPUT_TOKENS = 16;

export function encodeResponsesRequest(
  input: CanonicalRequest,
  options: EncodingTarget = {},
): Result<EncodedRequest, Fault> {
  return attempt(() => {
    const request = withClientTools(input, 'responses');
    const isNative = request.source === 'responses';
    const customTools = isNative || options.facts?.thinking !== undefined;
    const target: EncodingTarget = { customTools, ...options };
    const tally = new Tally();
    const names = new ToolNames(MAX_TOOL_NAME_LENGTH, request.tools.filter(isNamed), target.customTools);
    const writer = new ItemWriter(tally, names, target);
    const instructions = instructionsOf(request.system);
    for (const turn of instructions === undefined ? request.system : request.system.slice(1))
      writer.turn(turn);
    for (const turn of groupToolResults(request.turns)) writer.turn(turn);
    if (instructions === undefined) requireContent(writer.items, request);
    const { metadata } = request;
    const reasoning = reasoningOf(request, target, tally);
    const body = withoutUndefined({
      model: target.model ?? request.model,
      instructions,
      input: writer.items,
      max_output_tokens: limitOf(request, target, tally),
      ...samplingOf(request, reasoning, target, tally),
      text: textOf(request, tally),
      reasoning,
      ...encodeTools(request, names, target, tally),
      stream: request.stream || undefined,
      user: userOf(request, tally),
      metadata,
      // Otherwise the supplier would store the response, which the request does not ask for.
      store: isNative ? undefined : false,
    });
    countUnknown(request, tally);
    tally.carry('responses', body, request.opaque);
    return { body, dropped: tally.list(), reply: { tools: names } };
  });
}

/** The first plain instruction has a separate field; the others are items. */
function instructionsOf(system: readonly SystemTurn[]): string | undefined {
  const [first] = system;
  const [block] = first?.blocks ?? [];
  const plain = first?.blocks.length === 1 && !first.developer && !first.opaque;
  return plain && !block!.cacheControl && !block!.opaque ? block!.text : undefined;
}

function limitOf(request: CanonicalRequest, target: EncodingTarget, tally: Tally): number | undefined {
  const isNative = request.source === 'responses';
  const limit = isNative ? request.maxOutputTokens : outputLimit(request, target, tally);
  if (limit === undefined || limit >= MIN_OUTPUT_TOKENS) return limit;
  tally.approximated('max_tokens', `at least ${MIN_OUTPUT_TOKENS}`);
  return MIN_OUTPUT_TOKENS;
}

function countUnknown({ topK, stop, seed }: CanonicalRequest, tally: Tally): void {
  if (topK !== undefined) tally.dropped('top_k', 'unknown to the target');
  if (seed !== undefined) tally.dropped('seed', 'unknown to the target');
  if (stop && stop.length > 0) tally.dropped('stop', 'unknown to the target');
}

/** Reasoning models accept no sampling parameters. */
function samplingOf(
  { temperature, topP: top_p, source }: CanonicalRequest,
  reasoning: JsonObject | undefined,
  { facts }: EncodingTarget,
  tally: Tally,
): JsonObject {
  const effort = reasoning?.effort;
  const isThinking = effort === undefined ? facts?.thinking?.unasked === true : effort !== 'none';
  const isRefused = facts?.sampling === 'refused' || (facts?.sampling === 'unless-thinking' && isThinking);
  if (!isRefused || source === 'responses') return { temperature, top_p };
  if (temperature !== undefined) tally.dropped('temperature', 'refused by the model');
  if (top_p !== undefined) tally.dropped('top_p', 'refused by the model');
  return {};
}

function textOf(
  { responseFormat: format, verbosity, source }: CanonicalRequest,
  tally: Tally,
): JsonObject | undefined {
  const text = withoutUndefined({
    format: format && formatOf(format, source === 'responses', tally),
    verbosity,
  });
  return Object.keys(text).length > 0 ? text : undefined;
}

function formatOf(
  format: NonNullable<CanonicalRequest['responseFormat']>,
  isNative: boolean,
  tally: Tally,
): JsonObject {
  if (format.type === 'text') return { type: 'text' };
  if (format.type === 'json') return { type: 'json_object' };
  const { schema, name = 'answer', description } = format;
  const strict = isNative ? format.strict : strictFormat(format, tally);
  return withoutUndefined({ type: 'json_schema', name, description, schema, strict });
}

function reasoningOf(
  request: CanonicalRequest,
  target: EncodingTarget,
  tally: Tally,
): JsonObject | undefined {
  const { reasoning: requested } = request;
  const effort = effortFor(request, target, tally, 'responses');
  const summary = cannotThink(target) ? undefined : requested?.summary;
  const reasoning = withoutUndefined({ effort, summary });
  return Object.keys(reasoning).length > 0 ? reasoning : undefined;
}

function encodeTools(
  request: CanonicalRequest,
  names: ToolNames,
  target: EncodingTarget,
  tally: Tally,
): JsonObject {
  const tools: JsonObject[] = [];
  const isNative = request.source === 'responses';
  for (const tool of request.tools) {
    if (tool.kind !== 'opaque') addNamed(tools, tool, names, { ...target, own: isNative }, tally);
    else if (tool.dialect === 'responses') tools.push(tool.value);
    else dropTool(tool, tally);
  }
  if (tools.length === 0) {
    refuseWithoutTools(request, tally);
    return {};
  }
  const choice = choiceFor(request, 'responses');
  const reference = (tool: ToolReference): JsonObject => referenceTo(tool, request, names, target);
  return {
    tools,
    tool_choice: choice && choiceOf(choice, reference, (allowed) => ({ type: 'allowed_tools', ...allowed })),
    parallel_tool_calls: request.parallelTools,
  };
}

function referenceTo(
  { name, namespace, custom }: ToolReference,
  { tools }: CanonicalRequest,
  names: ToolNames,
  target: EncodingTarget,
): JsonObject {
  if (tools.some((tool) => tool.kind === 'opaque' && tool.value.type === name)) return { type: name };
  const type = custom && target.customTools ? 'custom' : 'function';
  if (target.customTools) return withoutUndefined({ type, name, namespace });
  return { type, name: names.nameOf({ name, namespace }) };
}

interface ResponsesToolTarget extends EncodingTarget {
  readonly own: boolean;
}

/** Suppliers with plain-text tools also support namespaces; adjacent tools of one namespace share an entry. */
function addNamed(
  list: JsonObject[],
  tool: NamedTool,
  names: ToolNames,
  target: ResponsesToolTarget,
  tally: Tally,
): void {
  const { namespace } = tool;
  const keepsNamespace = namespace !== undefined && target.customTools === true;
  const name = keepsNamespace ? tool.name : names.nameOf({ name: tool.name, namespace: namespace?.name });
  const encoded = encodeNamed(tool, name, target, tally);
  if (!keepsNamespace) {
    if (namespace) tally.approximated(tool.at, 'the namespace became a part of the name');
    list.push(encoded);
    return;
  }
  const last = list.at(-1);
  if (last?.type === 'namespace' && last.name === namespace.name) (last.tools as JsonObject[]).push(encoded);
  else list.push(withoutUndefined({ type: 'namespace', ...namespace, tools: [encoded] }));
}

function encodeNamed(tool: NamedTool, name: string, target: ResponsesToolTarget, tally: Tally): JsonObject {
  const { description } = tool;
  if (tool.cacheControl) tally.dropped(`${tool.at}.cache_control`, 'unknown to the target');
  if (tool.kind === 'custom') {
    if (target.customTools)
      return withoutUndefined({ type: 'custom', name, description, format: tool.format });
    tally.approximated(tool.at, 'offered as a function with one text');
    return withoutUndefined({ type: 'function', name, description, parameters: CUSTOM_TOOL_SCHEMA });
  }
  // In this dialect, a function is strict unless it says otherwise.
  const strict = target.own ? tool.strict : (strictFor(tool, tally) ?? false);
  const encoded = withoutUndefined({ type: 'function', name, description, parameters: tool.schema, strict });
  tally.carry('responses', encoded, tool.opaque);
  return encoded;
}
