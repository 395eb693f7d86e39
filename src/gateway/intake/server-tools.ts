import { type Fault, fault, type JsonFields, type PartBound } from '../../kernel';
import { type AllowedTool, pick, type RequestMeasure } from '../../protocol';
import type { Operation } from '../operations/operation';

/** The supplier runs these tools during the answer, within the limits of their use. */
export interface ServerTools {
  /** Each with the most uses it can have; the sum of all may be less. */
  readonly tools: readonly AllowedTool[];
  /** The most uses of all together: after each, the model reads the conversation again. */
  readonly uses: number;
  /** The limit that is inserted into the request; null where none is needed. */
  readonly limits: ((body: JsonFields) => JsonFields) | null;
  /** The names of the inserted limits, for `x-svc-dropped`. */
  readonly insertedLimits: readonly string[];
}

/** The default limit where the caller names none. */
const USUAL_TOOL_USES = 5;
/** After so many rounds the supplier of the messages dialect hands a turn back unfinished. */
const MESSAGES_ROUNDS = 10;
const MOST_USES = 1_000;
/** The default limit of an advice, which usually takes less than half of it. */
const USUAL_ADVICE = 4_096;
const MOST_ADVICE = 1_000_000;

const none: ServerTools = { tools: [], uses: 0, limits: null, insertedLimits: [] };

/** Null limits and `true` limits; a limit is inserted where the caller set none, and kept where one is set. */
export function serverToolsOf(measure: RequestMeasure, operation: Operation): ServerTools {
  if (measure.serverTools.length === 0) return none;
  if (operation.name === 'messages') return limitedEach(measure);
  return limitedTogether(measure, operation);
}

function limitedEach({ serverTools: found, advisors }: RequestMeasure): ServerTools {
  for (const { index, maxTokens } of advisors)
    if (maxTokens !== null) assertUses(maxTokens, `tools[${index}].max_tokens`, MOST_ADVICE);
  const tools = found.map(({ type, index, maxUses, takesLimit }) => {
    if (maxUses !== null) assertUses(maxUses, `tools[${index}].max_uses`);
    return { type, index, maxUses: maxUses ?? (takesLimit ? USUAL_TOOL_USES : MESSAGES_ROUNDS) };
  });
  const open = new Set(
    found.flatMap(({ index, maxUses, takesLimit }) => (takesLimit && maxUses === null ? [index] : [])),
  );
  const limits = ({ tools: all }: JsonFields): JsonFields => ({
    tools: (Array.isArray(all) ? all : []).map((tool: unknown, index) =>
      open.has(index) || isUnbounded(tool) ? bounded(tool as object, open.has(index)) : tool,
    ),
  });
  const sum = tools.reduce((total, { maxUses }) => total + maxUses, 0);
  const insertedLimits = [
    ...(open.size > 0 ? ['tools.max_uses'] : []),
    ...(advisors.some(({ maxTokens }) => maxTokens === null) ? ['tools.max_tokens'] : []),
  ];
  const isOpen = insertedLimits.length > 0;
  return { tools, uses: Math.min(sum, MESSAGES_ROUNDS), limits: isOpen ? limits : null, insertedLimits };
}

const isUnbounded = (tool: unknown): boolean => {
  const [type, limit] = [pick(tool, 'type'), pick(tool, 'max_tokens')];
  return typeof type === 'string' && type.startsWith('advisor_') && (limit === undefined || limit === null);
};

const bounded = (tool: object, isOpen: boolean) => ({
  ...tool,
  ...(isOpen && { max_uses: USUAL_TOOL_USES }),
  ...(isUnbounded(tool) && { max_tokens: USUAL_ADVICE }),
});

/** Each advisor may be billed for these parts, beside the answer. */
export function adviceBounds(
  { advisors }: RequestMeasure,
  { tools }: ServerTools,
  read: number,
): PartBound[] {
  return advisors.map(({ model, index, maxTokens }) => {
    const times = tools.find((tool) => tool.index === index)?.maxUses ?? USUAL_TOOL_USES;
    return { model, times, inputTokens: read, outputTokens: maxTokens ?? USUAL_ADVICE };
  });
}

function limitedTogether({ serverTools, maxToolCalls }: RequestMeasure, operation: Operation): ServerTools {
  if (maxToolCalls !== null) assertUses(maxToolCalls, 'max_tool_calls');
  const uses = maxToolCalls ?? USUAL_TOOL_USES;
  const isOpen = maxToolCalls === null && operation.name === 'responses';
  return {
    tools: serverTools.map(({ type, index }) => ({ type, index, maxUses: uses })),
    uses,
    limits: isOpen ? () => ({ max_tool_calls: uses }) : null,
    insertedLimits: isOpen ? ['max_tool_calls'] : [],
  };
}

function assertUses(value: number, param: string, most = MOST_USES): void {
  if (Number.isInteger(value) && value >= 1 && value <= most) return;
  throw invalid(param, most);
}

const invalid = (param: string, most: number): Fault =>
  fault('invalid_request', {
    param,
    message: `${param} must be a whole number from 1 to ${most.toLocaleString('en')}.`,
  });
