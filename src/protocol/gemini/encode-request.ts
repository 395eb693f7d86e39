import { type Fault, type Result } from '../../kernel';
import {
  attempt,
  type CanonicalRequest,
  CUSTOM_TOOL_SCHEMA,
  dropTool,
  type EncodedRequest,
  isNamed,
  type JsonObject,
  requireContent,
  outputLimit,
  withoutUndefined,
  refuseWithoutTools,
  groupToolResults,
  Tally,
  type EncodingTarget,
  ToolNames,
  withClientTools,
} from '../canonical';
import type { Effort, ThinkingFacts } from '../../vendors';
import { budgetOf, cannotThink, effortOfBudget, nearestEffort, replaceEffort } from '../effort';
import { GeminiWriter, dropOpaque } from './encode-content';

const MAX_TOOL_NAME_LENGTH = 64;
const MAX_STOP_SEQUENCES = 5;

/** The body of a generateContent call. Model and streaming mode are part of the URL instead. */
export function encodeGeminiRequest(
  input: CanonicalRequest,
  target: EncodingTarget = {},
): Result<EncodedRequest, Fault> {
  return attempt(() => {
    const request = withClientTools(input, 'gemini');
    const tally = new Tally();
    const names = new ToolNames(MAX_TOOL_NAME_LENGTH, request.tools.filter(isNamed));
    const writer = new GeminiWriter(tally, names);
    for (const turn of request.system) writer.addSystem(turn);
    for (const turn of groupToolResults(request.turns)) writer.turn(turn);
    dropOpaque(request, tally);
    const contents = writer.finish();
    requireContent(contents, request);
    if (target.facts?.prefill === false) writer.ensureUserLast(contents);
    const body = withoutUndefined({
      contents,
      systemInstruction: writer.system.length > 0 ? { parts: writer.system } : undefined,
      ...toolsOf(request, names, tally),
      generationConfig: configOf(request, target, tally),
    });
    return { body, dropped: tally.list(), reply: { tools: names } };
  });
}

function configOf(request: CanonicalRequest, target: EncodingTarget, tally: Tally): JsonObject {
  const { temperature, topP, topK, seed, responseFormat: format } = request;
  for (const name of ['user', 'metadata', 'verbosity'] as const) {
    if (request[name] !== undefined) tally.dropped(name, 'unknown to the target');
  }
  const stops = request.stop?.slice(0, MAX_STOP_SEQUENCES);
  if (request.stop && stops!.length < request.stop.length)
    tally.dropped('stop', `more than ${MAX_STOP_SEQUENCES}`);
  return withoutUndefined({
    maxOutputTokens: outputLimit(request, target, tally) ?? defaultLimit(target),
    temperature,
    topP,
    topK,
    seed,
    stopSequences: stops,
    responseMimeType: format && format.type !== 'text' ? 'application/json' : undefined,
    responseJsonSchema: format?.type === 'schema' ? format.schema : undefined,
    thinkingConfig: thinkingOf(request, target, tally),
  });
}

const defaultLimit = ({ maxOutputTokens: held, facts }: EncodingTarget): number | undefined =>
  held === undefined ? undefined : Math.min(held, facts?.maxOutput ?? Infinity);

/** A budget of -1 lets the model decide. */
function thinkingOf(request: CanonicalRequest, target: EncodingTarget, tally: Tally): JsonObject | undefined {
  const { reasoning } = request;
  if (!reasoning) return undefined;
  if (reasoning.display !== undefined) tally.dropped('thinking.display', 'unknown to the target');
  if (cannotThink(target)) {
    tally.dropped('reasoning', 'this model cannot be told how to think');
    return undefined;
  }
  if (reasoning.mode === 'between-tools') tally.dropped('thinking.type', 'the target decides by itself');
  const facts = target.facts?.thinking;
  if (facts?.efforts !== undefined) return levelOf(request, facts.efforts, tally);
  const isDisabled = reasoning.mode === 'off' || reasoning.effort === 'none';
  if (isDisabled) {
    if (facts?.canStop === false) tally.approximated('reasoning', 'this model always thinks');
    return { thinkingBudget: facts?.budget?.least ?? 0 };
  }
  if (reasoning.effort !== undefined) tally.approximated('reasoning', 'expressed as a budget of tokens');
  const budget = reasoning.budgetTokens ?? (reasoning.effort === undefined ? -1 : budgetOf(reasoning.effort));
  const thinkingBudget = withinBudget(budget, facts);
  if (thinkingBudget !== budget) replaceBudget(request, thinkingBudget, tally);
  return { thinkingBudget, includeThoughts: true };
}

/** A budget of -1 is always within limits. */
const withinBudget = (tokens: number, facts: ThinkingFacts | undefined): number =>
  tokens < 0 || facts?.budget === undefined
    ? tokens
    : Math.min(facts.budget.most, Math.max(facts.budget.least, tokens));

function replaceBudget(request: CanonicalRequest, nearest: number, tally: Tally): void {
  const { budgetTokens } = request.reasoning ?? {};
  if (budgetTokens === undefined) return replaceEffort(request, `${nearest} tokens`, tally);
  const field = 'thinking.budget_tokens';
  tally.approximated(field, `the nearest budget is ${nearest}`, `${field}.${budgetTokens}`);
}

/** Newer models take a level and refuse a budget in addition. */
function levelOf(request: CanonicalRequest, levels: readonly Effort[], tally: Tally): JsonObject {
  const { mode, effort, budgetTokens } = request.reasoning ?? {};
  if (budgetTokens !== undefined) tally.approximated('thinking.budget_tokens', 'expressed as effort');
  const budget = budgetTokens === undefined ? undefined : effortOfBudget(budgetTokens);
  const requested = mode === 'off' ? 'none' : (effort ?? budget);
  if (requested === undefined) return { includeThoughts: true };
  const level = nearestEffort(requested === 'none' ? 'minimal' : requested, levels);
  if (level !== requested) replaceEffort(request, level, tally);
  return { thinkingLevel: level, includeThoughts: requested !== 'none' };
}

function toolsOf(request: CanonicalRequest, names: ToolNames, tally: Tally): JsonObject {
  const declarations = request.tools.flatMap((tool): JsonObject[] => {
    if (tool.cacheControl) tally.dropped(`${tool.at}.cache_control`, 'unknown to the target');
    if (tool.kind === 'opaque') {
      dropTool(tool, tally);
      return [];
    }
    dropOpaque(tool, tally);
    const name = names.nameOf({ name: tool.name, namespace: tool.namespace?.name });
    if (tool.namespace) tally.approximated(tool.at, 'the namespace became a part of the name');
    if (tool.kind === 'custom') tally.approximated(tool.at, 'offered as a function with one text');
    else if (tool.strict) tally.dropped(`${tool.at}.strict`, 'unknown to the target');
    const parametersJsonSchema = tool.kind === 'custom' ? CUSTOM_TOOL_SCHEMA : tool.schema;
    return [withoutUndefined({ name, description: tool.description, parametersJsonSchema })];
  });
  if (declarations.length === 0) {
    refuseWithoutTools(request, tally);
    return {};
  }
  if (request.parallelTools === false) tally.dropped('parallel_tool_calls', 'unknown to the target');
  const mode = choiceOf(request, names);
  return withoutUndefined({
    tools: [{ functionDeclarations: declarations }],
    toolConfig: mode && { functionCallingConfig: mode },
  });
}

function choiceOf({ toolChoice: choice }: CanonicalRequest, names: ToolNames): JsonObject | undefined {
  switch (choice?.mode) {
    case undefined:
      return undefined;
    case 'auto':
      return { mode: 'AUTO' };
    case 'none':
      return { mode: 'NONE' };
    case 'required':
      return { mode: 'ANY' };
    case 'tool':
      return { mode: 'ANY', allowedFunctionNames: [names.nameOf(choice.tool)] };
    case 'allowed':
      return {
        mode: choice.required ? 'ANY' : 'VALIDATED',
        allowedFunctionNames: choice.tools.map((tool) => names.nameOf(tool)),
      };
  }
}
