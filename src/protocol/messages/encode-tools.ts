import {
  type CanonicalRequest,
  choiceFor,
  CUSTOM_TOOL_SCHEMA,
  dropTool,
  type JsonObject,
  present,
  refuseWithoutTools,
  type Tally,
  type Target,
  type Tool,
  type ToolNames,
  type ToolReference,
} from '../canonical';
import type { Enforcement } from './enforceable';

export interface ToolFields {
  readonly tools?: JsonObject[];
  readonly tool_choice?: JsonObject;
}

/** The model takes these of schemas, and the request has used so much of that. */
interface ToolRules {
  readonly target: Target;
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

/** This dialect cannot offer a tool and forbid it, so what is not allowed is not offered. */
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
    return present({ name, description, input_schema: CUSTOM_TOOL_SCHEMA, cache_control });
  }
  const schema = tool.schema ?? NO_ARGUMENTS;
  const input = schema.type === 'object' ? schema : { ...schema, type: 'object' };
  const enforced = tool.strict === true ? enforcedInput(input, rules) : undefined;
  if (tool.strict && !enforced) tally.dropped(`${tool.at}.strict`, 'the schema cannot be enforced');
  else if (enforced?.isMoved) tally.approximated(`${tool.at}.schema`, 'bounds became descriptions');
  const strict = enforced && true;
  const input_schema = enforced?.schema ?? input;
  const encoded = present({ name, description, input_schema, strict, cache_control });
  tally.carry('messages', encoded, tool.opaque);
  return encoded;
}

function enforcedInput(
  input: JsonObject,
  { target, enforcement }: ToolRules,
): { readonly schema: JsonObject; readonly isMoved: boolean } | undefined {
  if (target.structuredOutput === 'tool') return undefined;
  if (target.facts?.schema !== 'anthropic') return { schema: input, isMoved: false };
  enforcement.moved = false;
  const schema = enforcement.take(input);
  return schema && { schema, isMoved: enforcement.moved };
}

function encodeChoice(request: CanonicalRequest, names: ToolNames): JsonObject | undefined {
  const { parallelTools } = request;
  const choice = choiceFor(request, 'messages');
  const alone = parallelTools === undefined ? {} : { disable_parallel_tool_use: !parallelTools };
  switch (choice?.mode) {
    case undefined:
      return parallelTools === false ? { type: 'auto', ...alone } : undefined;
    case 'none':
      return { type: 'none' };
    case 'auto':
      return { type: 'auto', ...alone };
    case 'required':
      return { type: 'any', ...alone };
    case 'tool':
      return { type: 'tool', name: names.nameOf(choice.tool), ...alone };
    case 'allowed':
      return { type: choice.required ? 'any' : 'auto', ...alone };
  }
}
