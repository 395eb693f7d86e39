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

type Item = NonNullable<ClientTool['item']>;

const items: readonly (Item & { readonly name: string })[] = clientTools.flatMap(({ item, name }) =>
  item === undefined || name === undefined ? [] : [{ ...item, name }],
);

/** The kind of call that an item of the responses dialect is, or the result of one. */
export const itemOfCall = (type: string) => items.find(({ call }) => call === type);
export const itemOfOutput = (type: string) => items.find(({ output }) => output === type);

/** A hosted shell is run by its supplier, unlike the one of the same type that the caller runs. */
const isHosted = ({ environment }: JsonObject): boolean =>
  isRecord(environment) && environment.type !== 'local';

function standIn({ dialect, value, name: given, at }: OpaqueTool, tools: readonly Tool[]): Tool | undefined {
  const known = clientTools.find((row) => row.dialect === dialect && row.type.test(String(value.type)));
  const name = given ?? known?.name;
  if (known === undefined || name === undefined || isHosted(value)) return undefined;
  if (tools.some((tool) => tool.kind !== 'opaque' && tool.name === name)) return undefined;
  const { description, schema, item } = known;
  return { kind: 'function', name, description, schema, at, ...(item && { item: item.call }) };
}

/** The request with functions in place of those tools of another dialect that the caller runs. */
export function withClientTools(request: CanonicalRequest, target: DialectName | 'gemini'): CanonicalRequest {
  const isForeign = (tool: Tool): tool is OpaqueTool => tool.kind === 'opaque' && tool.dialect !== target;
  if (!request.tools.some(isForeign)) return request;
  const tools = request.tools.map((tool) => (isForeign(tool) && standIn(tool, request.tools)) || tool);
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
