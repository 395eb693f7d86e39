import { type Fault, fault } from '../../kernel';
import type { AllowedTool, RequestMeasure, ServerTool } from '../../protocol';
import type { Operation } from './operation';

type Body = Readonly<Record<string, unknown>>;

/** Tools that the supplier runs during the answer, and the limits of their use. */
export interface ServerTools {
  /** Each with the most uses it can have; the sum of all may be less. */
  readonly tools: readonly AllowedTool[];
  /** The most uses of all together: after each, the model reads the conversation again. */
  readonly uses: number;
  /** The limit that is inserted into the request; null where none is needed. */
  readonly limits: ((body: Body) => Body) | null;
}

/** The default limit where the caller names none. */
const USUAL_TOOL_USES = 5;
/** After so many rounds the supplier of the messages dialect hands a turn back unfinished. */
const MESSAGES_ROUNDS = 10;
const MOST_USES = 1_000;

const none: ServerTools = { tools: [], uses: 0, limits: null };

/** Null limits and `true` limits; a limit is inserted where the caller set none, and kept where one is set. */
export function serverToolsOf(measure: RequestMeasure, operation: Operation): ServerTools {
  if (measure.serverTools.length === 0) return none;
  if (operation.name === 'messages') return limitedEach(measure.serverTools);
  return limitedTogether(measure, operation);
}

function limitedEach(found: readonly ServerTool[]): ServerTools {
  const tools = found.map(({ type, index, maxUses, takesLimit }) => {
    if (maxUses !== null) assertUses(maxUses, `tools[${index}].max_uses`);
    return { type, index, maxUses: maxUses ?? (takesLimit ? USUAL_TOOL_USES : MESSAGES_ROUNDS) };
  });
  const open = new Set(
    found.flatMap(({ index, maxUses, takesLimit }) => (takesLimit && maxUses === null ? [index] : [])),
  );
  const limits = ({ tools: all }: Body): Body => ({
    tools: (Array.isArray(all) ? all : []).map((tool: unknown, index) =>
      open.has(index) ? { ...(tool as object), max_uses: USUAL_TOOL_USES } : tool,
    ),
  });
  const sum = tools.reduce((total, { maxUses }) => total + maxUses, 0);
  return { tools, uses: Math.min(sum, MESSAGES_ROUNDS), limits: open.size > 0 ? limits : null };
}

function limitedTogether({ serverTools, maxToolCalls }: RequestMeasure, operation: Operation): ServerTools {
  if (maxToolCalls !== null) assertUses(maxToolCalls, 'max_tool_calls');
  const uses = maxToolCalls ?? USUAL_TOOL_USES;
  const isOpen = maxToolCalls === null && operation.name === 'responses';
  return {
    tools: serverTools.map(({ type, index }) => ({ type, index, maxUses: uses })),
    uses,
    limits: isOpen ? () => ({ max_tool_calls: uses }) : null,
  };
}

function assertUses(value: number, param: string): void {
  if (Number.isInteger(value) && value >= 1 && value <= MOST_USES) return;
  throw invalid(param);
}

const invalid = (param: string): Fault =>
  fault('invalid_request', {
    param,
    message: `${param} must be a whole number from 1 to ${MOST_USES.toLocaleString('en')}.`,
  });
