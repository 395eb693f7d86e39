import { type Fault, type Result } from '../../kernel';
import {
  attempt,
  type CanonicalRequest,
  CUSTOM_TOOL_SCHEMA,
  type EncodedRequest,
  isNamed,
  type JsonObject,
  needSomething,
  present,
  refuseForcedChoice,
  resultsBehindCalls,
  Tally,
  type Target,
  ToolNames,
} from '../canonical';
import { budgetOf } from '../effort';
import { GeminiWriter, leaveOut } from './encode-content';

const LONGEST_TOOL_NAME = 64;
const MOST_STOPS = 5;

/** The body of a generateContent call. The model and whether it streams are no part of it: they stand in the address. */
export function encodeGeminiRequest(
  request: CanonicalRequest,
  target: Target = {},
): Result<EncodedRequest, Fault> {
  return attempt(() => {
    const tally = new Tally();
    const names = new ToolNames(LONGEST_TOOL_NAME, request.tools.filter(isNamed));
    const writer = new GeminiWriter(tally, names);
    for (const turn of request.system) writer.lead(turn);
    for (const turn of resultsBehindCalls(request.turns)) writer.turn(turn);
    leaveOut(request, tally);
    const contents = writer.finish();
    needSomething(contents, request);
    const body = present({
      contents,
      systemInstruction: writer.system.length > 0 ? { parts: writer.system } : undefined,
      ...toolsOf(request, names, tally),
      generationConfig: configOf(request, target, tally),
    });
    return { body, dropped: tally.list(), reply: { tools: names } };
  });
}

function configOf(request: CanonicalRequest, target: Target, tally: Tally): JsonObject {
  const { maxOutputTokens, temperature, topP, topK, seed, responseFormat: format } = request;
  for (const name of ['user', 'metadata', 'verbosity'] as const) {
    if (request[name] !== undefined) tally.dropped(name, 'unknown to the target');
  }
  const stops = request.stop?.slice(0, MOST_STOPS);
  if (request.stop && stops!.length < request.stop.length) tally.dropped('stop', `more than ${MOST_STOPS}`);
  return present({
    maxOutputTokens: maxOutputTokens ?? target.maxOutputTokens,
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

/** A budget of -1 leaves it to the model. */
function thinkingOf({ reasoning }: CanonicalRequest, target: Target, tally: Tally): JsonObject | undefined {
  if (!reasoning) return undefined;
  if (target.reasoning === false) {
    tally.dropped('reasoning', 'this model cannot be told how to think');
    return undefined;
  }
  if (reasoning.mode === 'off' || reasoning.effort === 'none') return { thinkingBudget: 0 };
  if (reasoning.effort !== undefined) tally.approximated('reasoning', 'expressed as a budget of tokens');
  const budget = reasoning.budgetTokens ?? (reasoning.effort === undefined ? -1 : budgetOf(reasoning.effort));
  return { thinkingBudget: budget, includeThoughts: true };
}

function toolsOf(request: CanonicalRequest, names: ToolNames, tally: Tally): JsonObject {
  const declarations = request.tools.flatMap((tool): JsonObject[] => {
    if (tool.cacheControl) tally.dropped(`${tool.at}.cache_control`, 'unknown to the target');
    if (tool.kind === 'opaque') {
      tally.dropped(tool.at, `the target has no tool of the type ${String(tool.value.type)}`);
      return [];
    }
    leaveOut(tool, tally);
    const name = names.nameOf({ name: tool.name, namespace: tool.namespace?.name });
    if (tool.kind === 'custom') tally.approximated(tool.at, 'offered as a function with one text');
    else if (tool.strict) tally.dropped(`${tool.at}.strict`, 'unknown to the target');
    const parametersJsonSchema = tool.kind === 'custom' ? CUSTOM_TOOL_SCHEMA : tool.schema;
    return [present({ name, description: tool.description, parametersJsonSchema })];
  });
  if (declarations.length === 0) {
    if (request.toolChoice && request.toolChoice.mode !== 'none') refuseForcedChoice(request, tally);
    return {};
  }
  if (request.parallelTools === false) tally.dropped('parallel_tool_calls', 'unknown to the target');
  const mode = choiceOf(request, names);
  return present({
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
