import { unsupported } from './fields';
import {
  type CanonicalRequest,
  type DialectName,
  type JsonObject,
  type NamedTool,
  type OpaqueTool,
  type ResponseFormat,
  type Tool,
  type ToolChoice,
  type ToolReference,
} from './request';
import { isStrictSchema } from './schema';
import { type Tally } from './tally';

const MAX_USER_LENGTH = 64;

/** Drops a tool that the target does not have, named by its type as the caller knows it. */
export function dropTool({ at, value }: OpaqueTool, tally: Tally): void {
  const type = String(value.type);
  tally.dropped(at, `the target has no tool of the type ${type}`, `tools.${type}`);
}

export const isNamed = (tool: Tool): tool is NamedTool => tool.kind !== 'opaque';

/** Without any tool there is nothing to choose, and a request that has only tools would become a different one. */
export function refuseWithoutTools({ tools, toolChoice }: CanonicalRequest, tally: Tally): void {
  if (toolChoice?.mode === 'none') return;
  if (toolChoice?.mode === 'tool' || toolChoice?.mode === 'required') {
    throw unsupported(
      'tool_choice',
      'None of the tools can be offered to this model, so none can be required.',
    );
  }
  const types = tools.flatMap((tool) => (tool.kind === 'opaque' ? [String(tool.value.type)] : []));
  if (types.length > 0 && types.length === tools.length)
    throw unsupported(
      'tools',
      `This model cannot be offered the only tools of the request: ${types.join(', ')}.`,
    );
  if (toolChoice !== undefined) tally.dropped('tool_choice', 'there is no tool to choose');
}

/** The tool choice restricted to tools that can be offered to the target. */
export function choiceFor(
  { toolChoice, tools }: CanonicalRequest,
  target: DialectName,
): ToolChoice | undefined {
  const isMissing = ({ name }: ToolReference): boolean =>
    tools.some(
      (tool) =>
        tool.kind === 'opaque' && tool.dialect !== target && [tool.name, tool.value.type].includes(name),
    ) && !tools.some((tool) => tool.kind !== 'opaque' && tool.name === name);
  if (toolChoice?.mode === 'tool' && isMissing(toolChoice.tool)) {
    throw unsupported('tool_choice', `The tool ${toolChoice.tool.name} cannot be offered to this model.`);
  }
  if (toolChoice?.mode !== 'allowed') return toolChoice;
  return { ...toolChoice, tools: toolChoice.tools.filter((tool) => !isMissing(tool)) };
}

/** Schema of a plain-text tool as offered to a model that supports functions only. */
export const CUSTOM_TOOL_SCHEMA = {
  type: 'object',
  properties: { input: { type: 'string' } },
  required: ['input'],
  additionalProperties: false,
};

/** Strict mode demands more of a schema here than elsewhere; a schema that does not comply would be refused. */
export function strictFor(tool: Extract<Tool, { kind: 'function' }>, tally: Tally): boolean | undefined {
  if (!tool.strict || !tool.schema || isStrictSchema(tool.schema)) return tool.strict;
  tally.dropped(`${tool.at}.strict`, 'the schema has optional or further properties');
  return undefined;
}

/** Strict mode for a response schema; defaults to strict if the schema allows it. */
export function strictFormat(
  { schema, strict }: Extract<ResponseFormat, { type: 'schema' }>,
  tally: Tally,
): boolean | undefined {
  if (isStrictSchema(schema)) return strict ?? true;
  if (strict) tally.dropped('response_format.strict', 'the schema cannot be enforced');
  return undefined;
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

/** Some clients put a complete session into this field, which is meant for a short identifier. */
export function userOf({ user, source }: CanonicalRequest, tally: Tally): string | undefined {
  if (user === undefined || source !== 'messages' || user.length <= MAX_USER_LENGTH) return user;
  tally.dropped('metadata.user_id', `longer than ${MAX_USER_LENGTH} characters`);
  return undefined;
}
