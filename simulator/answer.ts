import { hashName, hashText } from './hash';
import { parseJson, type JsonObject } from './json';
import { judgementOf } from './judge';
import { Directives, piecesOf, words } from './prompt';
import { minimalValue } from './schema';
import { withMistakes } from './skill';
import { countPrompt, countTokens, type PromptWeight } from './tokens';
import type { Tempo } from './reply';
import type { Usage } from './usage';

export interface Tool {
  readonly name: string;
  readonly schema: unknown;
  /** Namespace of a Responses tool. */
  readonly namespace?: string;
}

export interface ToolCall {
  readonly name: string;
  readonly namespace?: string;
  /** Digits of the call's id; each dialect adds its own prefix. */
  readonly key: string;
  /** Overrides the generated id. */
  readonly id?: string;
  readonly input: JsonObject;
  /** The arguments as JSON text; empty with `[[no-args]]`. */
  readonly arguments: string;
}

/** Everything the user side said in one turn. */
export interface Turn {
  readonly text: string;
  readonly results: readonly string[];
}

export interface ToolChoice {
  readonly mode: 'auto' | 'none' | 'any' | 'named';
  readonly name?: string;
}

/** Request of any dialect, reduced to what the answer depends on. */
export interface Conversation {
  readonly model: string;
  readonly turns: readonly Turn[];
  readonly weight: PromptWeight;
  readonly tools: readonly Tool[];
  readonly choice: ToolChoice;
  readonly parallel: boolean;
  readonly outputLimit?: number;
  readonly stops: readonly string[];
  /** JSON schema of the text, or `{}` for any object. */
  readonly format?: unknown;
  readonly thinks: boolean;
}

export type Finish = 'end' | 'length' | 'tools' | 'stop-sequence' | 'filter';

export interface ModelAnswer {
  /** At least sixteen hexadecimal digits; equal for equal conversations. */
  readonly key: string;
  readonly model: string;
  readonly reasoning: readonly string[];
  readonly text: readonly string[];
  readonly calls: readonly ToolCall[];
  readonly finish: Finish;
  readonly stopSequence?: string;
  readonly interleave: boolean;
  readonly usage: Usage;
  readonly tempo: Tempo;
}

interface ConversationQuestion {
  readonly text: string;
  readonly directives: Directives;
  /** Tool-result turns since the question. */
  readonly rounds: number;
}

const emptyTurn: Turn = { text: '', results: [] };

/** Computes the complete answer; a pure function of the conversation. */
export function answerTo(conversation: Conversation): ModelAnswer {
  const question = questionOf(conversation.turns);
  const { directives } = question;
  const results = conversation.turns.at(-1)?.results ?? [];
  const key = hashName(
    question.text,
    String(conversation.turns.length),
    results.join('\n'),
    conversation.model,
  );
  const toolCalls = callsFor(conversation, question, key);
  const thinks = conversation.thinks || directives.has('think');
  const reasoning = thinks
    ? words(hashText(question.text) ^ 1, directives.number('think') ?? 12, 'plain')
    : [];
  const hasSpokenText = ['tokens', 'echo', 'aloud'].some((name) => directives.has(name));
  const isSilent = toolCalls.length > 0 && !hasSpokenText;
  const text = isSilent ? [] : textFor(conversation, question, results);
  const cut = applyLimits({ reasoning, text, calls: toolCalls }, conversation, directives);
  return {
    key,
    model: conversation.model,
    ...cut,
    interleave: directives.has('interleave'),
    usage: usageOf(conversation, directives, cut),
    tempo: tempoOf(directives, question.text),
  };
}

export function promptTokensOf(conversation: Conversation): number {
  const { directives } = questionOf(conversation.turns);
  return (
    countPrompt(conversation.weight) +
    (directives.number('cached') ?? 0) +
    (directives.number('cache-write') ?? 0)
  );
}

/** Returns the directives of the last user text; after tool results, those of the question that led to them. */
export function questionOf(turns: readonly Turn[]): ConversationQuestion {
  const last = turns.at(-1) ?? emptyTurn;
  let start = turns.length - 1;
  while (start > 0 && (turns[start] ?? emptyTurn).results.length > 0) start--;
  const ownDirectives = new Directives(last.text);
  const question = turns[start] ?? emptyTurn;
  const usesOwn = ownDirectives.size > 0 || last.results.length === 0;
  return {
    text: usesOwn ? last.text : question.text,
    directives: usesOwn ? ownDirectives : new Directives(question.text),
    rounds: turns.length - 1 - start + (question.results.length > 0 ? 1 : 0),
  };
}

function callsFor(conversation: Conversation, question: ConversationQuestion, key: string): ToolCall[] {
  const { tools, choice } = conversation;
  if (tools.length === 0 || choice.mode === 'none') return [];
  const wantedCalls = wantedTools(conversation, question);
  const hasEmptyArguments = question.directives.has('empty-args') || question.directives.has('no-args');
  const calls = wantedCalls.map(({ tool, requestedInput }, index): ToolCall => {
    const input = hasEmptyArguments ? {} : (requestedInput ?? (minimalValue(tool.schema) as JsonObject));
    return {
      name: tool.name,
      ...(tool.namespace === undefined ? {} : { namespace: tool.namespace }),
      key: `${key}${index}`,
      input,
      arguments: question.directives.has('no-args') ? '' : JSON.stringify(input),
    };
  });
  return conversation.parallel ? calls : calls.slice(0, 1);
}

interface WantedTool {
  readonly tool: Tool;
  readonly requestedInput?: JsonObject;
}

function wantedTools(
  { tools, choice }: Conversation,
  { directives, rounds }: ConversationQuestion,
): WantedTool[] {
  const steps = directives.number('steps') ?? 1;
  if (rounds >= steps) return [];
  const namedCalls = directives.all('tool').flatMap((value) => namedTool(value, tools));
  if (namedCalls.length > 0) return namedCalls;
  const count = directives.number('tools') ?? (directives.has('steps') ? 1 : 0);
  if (count > 0) return Array.from({ length: count }, (_, index) => toolCallFor(tools[index % tools.length]));
  // A caller that requires a tool gets one call; after its result, text ends the loop.
  if (choice.mode === 'any') return [toolCallFor(tools[0])];
  if (choice.mode === 'named')
    return [toolCallFor(tools.find((tool) => tool.name === choice.name) ?? tools[0])];
  return [];
}

function toolCallFor(tool: Tool | undefined): WantedTool {
  return { tool: tool ?? { name: 'none', schema: {} } };
}

/** Parses `name` or `name({"json":"arguments"})`; a tool that the request does not offer is not called. */
function namedTool(value: string, tools: readonly Tool[]): WantedTool[] {
  const open = value.indexOf('(');
  const name = open < 0 ? value : value.slice(0, open);
  const tool = tools.find((candidate) => candidate.name === name);
  if (tool === undefined) return [];
  const parsedArguments =
    open < 0 ? undefined : parseJson(value.slice(open + 1, value.lastIndexOf(')')))?.value;
  return [parsedArguments === undefined ? { tool } : { tool, requestedInput: parsedArguments as JsonObject }];
}

function textFor(
  { format, model }: Conversation,
  { text, directives }: ConversationQuestion,
  results: readonly string[],
): string[] {
  const echo = directives.text('echo');
  if (echo !== undefined) return piecesOf(echo, 4);
  const judgement = judgementOf(text);
  if (judgement !== undefined) return piecesOf(judgement, 4);
  if (format !== undefined) return piecesOf(JSON.stringify(minimalValue(format)), 4);
  const seed = hashText(text);
  const count = directives.number('tokens');
  if (results.length > 0 && count === undefined) {
    return piecesOf(`The tools answered: ${results.map((result) => result.slice(0, 80)).join('; ')}.`, 4);
  }
  const generatedWords = words(
    seed,
    count ?? 12 + (seed % 20),
    directives.has('unicode') ? 'unicode' : 'plain',
  );
  return withMistakes(generatedWords, text, model);
}

type ModelAnswerParts = Pick<ModelAnswer, 'reasoning' | 'text' | 'calls'>;
type TruncatedAnswer = ModelAnswerParts & Pick<ModelAnswer, 'finish' | 'stopSequence'>;

function applyLimits(
  parts: ModelAnswerParts,
  conversation: Conversation,
  directives: Directives,
): TruncatedAnswer {
  if (directives.text('filter') === 'answer') {
    return { ...parts, calls: [], text: parts.text.slice(0, 3), finish: 'filter' };
  }
  const stopped = cutAtStopSequence(parts.text, conversation.stops);
  const limit = conversation.outputLimit ?? Infinity;
  const reasoning = parts.reasoning.slice(0, limit);
  const text = stopped.text.slice(0, limit - reasoning.length);
  const tokensLeft = limit - reasoning.length - text.length;
  const calls = callTokens(parts.calls) <= tokensLeft ? parts.calls : [];
  const isTruncated =
    reasoning.length < parts.reasoning.length ||
    text.length < stopped.text.length ||
    calls.length < parts.calls.length;
  if (isTruncated) return { reasoning, text, calls, finish: 'length' };
  if (stopped.sequence !== undefined) {
    return { reasoning, text, calls: [], finish: 'stop-sequence', stopSequence: stopped.sequence };
  }
  return { reasoning, text, calls, finish: calls.length > 0 ? 'tools' : 'end' };
}

function cutAtStopSequence(
  pieces: readonly string[],
  stops: readonly string[],
): { text: readonly string[]; sequence?: string } {
  if (stops.length === 0) return { text: pieces };
  const text = pieces.join('');
  const hits = stops
    .map((sequence) => ({ sequence, at: text.indexOf(sequence) }))
    .filter(({ at }) => at >= 0)
    .sort((left, right) => left.at - right.at);
  const first = hits[0];
  return first === undefined
    ? { text: pieces }
    : { text: piecesOf(text.slice(0, first.at), 4), sequence: first.sequence };
}

function callTokens(calls: readonly ToolCall[]): number {
  return calls.reduce((sum, call) => sum + countTokens(call.name + call.arguments), 0);
}

function usageOf(conversation: Conversation, directives: Directives, parts: ModelAnswerParts): Usage {
  return {
    uncachedInput: countPrompt(conversation.weight),
    cacheRead: directives.number('cached') ?? 0,
    cacheWrite: directives.number('cache-write') ?? 0,
    output: countTokens(parts.text.join('')) + callTokens(parts.calls),
    reasoning: countTokens(parts.reasoning.join('')),
  };
}

/** `[[delay=300-1500]]` derives one value of the range from the text. */
function tempoOf(directives: Directives, text: string): Tempo {
  const [min, max] = (directives.text('delay') ?? '0').split('-').map(Number);
  const from = min ?? 0;
  return {
    delayMs: max === undefined ? from : from + (hashText(text) % Math.max(1, max - from)),
    firstTokenMs: directives.number('first') ?? 0,
    ...(directives.has('pace') ? { paceMs: directives.number('pace') ?? 0 } : {}),
  };
}
