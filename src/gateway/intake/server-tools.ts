import { type Fault, fault, type JsonFields, type PartBound } from '../../kernel';
import { type AllowedTool, pick, type RequestMeasure } from '../../protocol';
import type { GatewayOperation } from '../operations/operation';

export interface ServerTools {
  /** Tools with the maximum uses of each; the total can be limited to less. */
  readonly tools: readonly AllowedTool[];
  /** Maximum uses in total: after each, the model reads the conversation again. */
  readonly uses: number;
  readonly limits: ((body: JsonFields) => JsonFields) | null;
  readonly insertedLimits: readonly string[];
}

const DEFAULT_TOOL_USES = 5;
/** After this many rounds a Messages supplier returns the turn unfinished. */
const MAX_MESSAGES_ROUNDS = 10;
const MAX_TOOL_USES = 1_000;
/** Limit inserted for an advisor; its output usually takes less than half of it. */
const DEFAULT_ADVICE_TOKENS = 4_096;
const MAX_ADVICE_TOKENS = 1_000_000;

const none: ServerTools = { tools: [], uses: 0, limits: null, insertedLimits: [] };

export function serverToolsOf(measure: RequestMeasure, operation: GatewayOperation): ServerTools {
  if (measure.serverTools.length === 0) return none;
  if (operation.name === 'messages') return limitEachTool(measure);
  return limitAllTools(measure, operation);
}

function limitEachTool({ serverTools: serverTools, advisors }: RequestMeasure): ServerTools {
  for (const { index, maxTokens } of advisors)
    if (maxTokens !== null) assertUses(maxTokens, `tools[${index}].max_tokens`, MAX_ADVICE_TOKENS);
  const tools = serverTools.map(({ type, index, maxUses, takesLimit }) => {
    if (maxUses !== null) assertUses(maxUses, `tools[${index}].max_uses`);
    return { type, index, maxUses: maxUses ?? (takesLimit ? DEFAULT_TOOL_USES : MAX_MESSAGES_ROUNDS) };
  });
  const unlimited = new Set(
    serverTools.flatMap(({ index, maxUses, takesLimit }) => (takesLimit && maxUses === null ? [index] : [])),
  );
  const limits = ({ tools: tools }: JsonFields): JsonFields => ({
    tools: (Array.isArray(tools) ? tools : []).map((tool: unknown, index) =>
      unlimited.has(index) || isUnlimitedAdvisor(tool)
        ? withLimits(tool as object, unlimited.has(index))
        : tool,
    ),
  });
  const sum = tools.reduce((total, { maxUses }) => total + maxUses, 0);
  const insertedLimits = [
    ...(unlimited.size > 0 ? ['tools.max_uses'] : []),
    ...(advisors.some(({ maxTokens }) => maxTokens === null) ? ['tools.max_tokens'] : []),
  ];
  const hasInsertedLimits = insertedLimits.length > 0;
  return {
    tools,
    uses: Math.min(sum, MAX_MESSAGES_ROUNDS),
    limits: hasInsertedLimits ? limits : null,
    insertedLimits,
  };
}

const isUnlimitedAdvisor = (tool: unknown): boolean => {
  const [type, limit] = [pick(tool, 'type'), pick(tool, 'max_tokens')];
  return typeof type === 'string' && type.startsWith('advisor_') && (limit === undefined || limit === null);
};

const withLimits = (tool: object, isUnlimited: boolean) => ({
  ...tool,
  ...(isUnlimited && { max_uses: DEFAULT_TOOL_USES }),
  ...(isUnlimitedAdvisor(tool) && { max_tokens: DEFAULT_ADVICE_TOKENS }),
});

export function adviceBounds(
  { advisors }: RequestMeasure,
  { tools }: ServerTools,
  inputTokens: number,
): PartBound[] {
  return advisors.map(({ model, index, maxTokens }) => {
    const times = tools.find((tool) => tool.index === index)?.maxUses ?? DEFAULT_TOOL_USES;
    return { model, times, inputTokens: inputTokens, outputTokens: maxTokens ?? DEFAULT_ADVICE_TOKENS };
  });
}

function limitAllTools(
  { serverTools, maxToolCalls }: RequestMeasure,
  operation: GatewayOperation,
): ServerTools {
  if (maxToolCalls !== null) assertUses(maxToolCalls, 'max_tool_calls');
  const uses = maxToolCalls ?? DEFAULT_TOOL_USES;
  const isOpen = maxToolCalls === null && operation.name === 'responses';
  return {
    tools: serverTools.map(({ type, index }) => ({ type, index, maxUses: uses })),
    uses,
    limits: isOpen ? () => ({ max_tool_calls: uses }) : null,
    insertedLimits: isOpen ? ['max_tool_calls'] : [],
  };
}

function assertUses(value: number, param: string, max = MAX_TOOL_USES): void {
  if (Number.isInteger(value) && value >= 1 && value <= max) return;
  throw invalid(param, max);
}

const invalid = (param: string, max: number): Fault =>
  fault('invalid_request', {
    param,
    message: `${param} must be a whole number from 1 to ${max.toLocaleString('en')}.`,
  });
