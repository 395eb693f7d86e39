import { type ClientTool, clientTools } from '../../vendors';
import { isRecord } from '../usage';
import { argumentsMembers, argumentsObject } from './collect';
import {
  type CanonicalRequest,
  type DialectName,
  type JsonObject,
  type OpaqueTool,
  type Tool,
} from './request';

type ClientToolItem = NonNullable<ClientTool['item']>;

const items: readonly (ClientToolItem & { readonly name: string })[] = clientTools.flatMap(
  ({ item, name }) => (item === undefined || name === undefined ? [] : [{ ...item, name }]),
);

export const itemOfCall = (type: string) => items.find(({ call }) => call === type);
export const itemOfOutput = (type: string) => items.find(({ output }) => output === type);

/** A hosted shell is run by its supplier, unlike a shell of the same type that the caller runs. */
const isHosted = ({ environment }: JsonObject): boolean =>
  isRecord(environment) && environment.type !== 'local';

function replacementFor(
  { dialect, value, name: ownName, at }: OpaqueTool,
  tools: readonly Tool[],
): Tool | undefined {
  const clientTool = clientTools.find((row) => row.dialect === dialect && row.type.test(String(value.type)));
  const name = ownName ?? clientTool?.name;
  if (clientTool === undefined || name === undefined || isHosted(value)) return undefined;
  if (tools.some((tool) => tool.kind !== 'opaque' && tool.name === name)) return undefined;
  const { description, schema, item } = clientTool;
  return { kind: 'function', name, description, schema, at, ...(item && { item: item.call }) };
}

export function withClientTools(request: CanonicalRequest, target: DialectName | 'gemini'): CanonicalRequest {
  const isForeign = (tool: Tool): tool is OpaqueTool => tool.kind === 'opaque' && tool.dialect !== target;
  if (!request.tools.some(isForeign)) return request;
  const tools = request.tools.map((tool) => (isForeign(tool) && replacementFor(tool, request.tools)) || tool);
  return { ...request, tools };
}

/** The item that a caller of responses expects for a call of such a tool. */
export function itemFor(type: string, text: string): JsonObject {
  const holds = itemOfCall(type)?.holds ?? 'action';
  if (type === 'local_shell_call')
    return { type, [holds]: { type: 'exec', env: {}, ...argumentsMembers(text) } };
  if (type === 'shell_call')
    return { type, [holds]: { timeout_ms: null, max_output_length: null, ...argumentsMembers(text) } };
  return { type, [holds]: argumentsObject(text) };
}
