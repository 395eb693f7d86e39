import {
  type CanonicalRequest,
  choiceFor,
  CUSTOM_TOOL_SCHEMA,
  dropTool,
  type JsonObject,
  withoutUndefined,
  refuseWithoutTools,
  type Tally,
  type EncodingTarget,
  type Tool,
  type ToolNames,
  type ToolReference,
} from '../canonical';
import type { Enforcement } from './enforceable';

export interface ToolFields {
  readonly tools?: JsonObject[];
  readonly tool_choice?: JsonObject;
}

interface ToolRules {
  readonly target: EncodingTarget;
  readonly enforcement: Enforcement;
}

const NO_ARGUMENTS = { type: 'object', properties: {} };

export function encodeTools(
  request: CanonicalRequest,
  names: ToolNames,
  rules: ToolRules,
  tally: Tally,
): ToolFields {
  const tools = allowedTools(request, tally)
    .map((tool) => encodeTool(tool, names, rules, tally))
    .filter((tool) => tool !== undefined);
  if (tools.length === 0) {
    refuseWithoutTools(request, tally);
    return {};
  }
  return { tools, tool_choice: encodeChoice(request, names) };
}

/** Offers only allowed tools, since this dialect cannot offer a tool and forbid it. */
function allowedTools({ tools, toolChoice }: CanonicalRequest, tally: Tally): readonly Tool[] {
  if (toolChoice?.mode !== 'allowed') return tools;
  tally.approximated('tool_choice', 'only the allowed tools are offered');
  const isAllowed = ({ name, namespace }: ToolReference): boolean =>
    toolChoice.tools.some((allowed) => allowed.name === name && allowed.namespace === namespace);
  return tools.filter(
    (tool) => tool.kind !== 'opaque' && isAllowed({ name: tool.name, namespace: tool.namespace?.name }),
  );
}

function encodeTool(tool: Tool, names: ToolNames, rules: ToolRules, tally: Tally): JsonObject | undefined {
  if (tool.kind === 'opaque') {
    if (tool.dialect === 'messages') return tool.value;
    dropTool(tool, tally);
    return undefined;
  }
  const { description, cacheControl: cache_control } = tool;
  const name = names.nameOf({ name: tool.name, namespace: tool.namespace?.name });
  if (tool.namespace) tally.approximated(tool.at, 'the namespace became a part of the name');
  if (tool.kind === 'custom') {
    tally.approximated(tool.at, 'offered as a function with one text');
    return withoutUndefined({ name, description, input_schema: CUSTOM_TOOL_SCHEMA, cache_control });
  }
  const schema = tool.schema ?? NO_ARGUMENTS;
  const input = schema.type === 'object' ? schema : { ...schema, type: 'object' };
  const enforced = tool.strict === true ? enforcedInput(input, rules) : undefined;
  if (tool.strict && !enforced) tally.dropped(`${tool.at}.strict`, 'the schema cannot be enforced');
  else if (enforced?.isMoved) tally.approximated(`${tool.at}.schema`, 'bounds became descriptions');
  const strict = enforced && true;
  const input_schema = enforced?.schema ?? input;
  const encoded = withoutUndefined({ name, description, input_schema, strict, cache_control });
  tally.carry('messages', encoded, tool.opaque);
  return encoded;
}

function enforcedInput(
  input: JsonObject,
  { target, enforcement }: ToolRules,
): { readonly schema: JsonObject; readonly isMoved: boolean } | undefined {
  if (target.structuredOutput === 'tool') return undefined;
  if (target.facts?.schema !== 'anthropic') return { schema: input, isMoved: false };
  enforcement.hasMovedKeywords = false;
  const schema = enforcement.enforce(input);
  return schema && { schema, isMoved: enforcement.hasMovedKeywords };
}

function encodeChoice(request: CanonicalRequest, names: ToolNames): JsonObject | undefined {
  const { parallelTools } = request;
  const choice = choiceFor(request, 'messages');
  const parallelField = parallelTools === undefined ? {} : { disable_parallel_tool_use: !parallelTools };
  switch (choice?.mode) {
    case undefined:
      return parallelTools === false ? { type: 'auto', ...parallelField } : undefined;
    case 'none':
      return { type: 'none' };
    case 'auto':
      return { type: 'auto', ...parallelField };
    case 'required':
      return { type: 'any', ...parallelField };
    case 'tool':
      return { type: 'tool', name: names.nameOf(choice.tool), ...parallelField };
    case 'allowed':
      return { type: choice.required ? 'any' : 'auto', ...parallelField };
  }
}
