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
  /** The namespace a Responses-style tool stands in. */
  readonly namespace?: string;
}

export interface ToolCall {
  readonly name: string;
  readonly namespace?: string;
  /** Digits that make the call's id; each dialect puts its own prefix before them. */
  readonly key: string;
  /** In place of the usual one. */
  readonly id?: string;
  readonly input: JsonObject;
  /** The same as JSON text; empty with `[[no-args]]`. */
  readonly arguments: string;
}

/** The user side said this in one turn. */
export interface Turn {
  readonly text: string;
  readonly results: readonly string[];
}

export interface ToolChoice {
  readonly mode: 'auto' | 'none' | 'any' | 'named';
  readonly name?: string;
}

/** A request of any dialect, reduced to what the answer depends on. */
export interface Conversation {
  readonly model: string;
  readonly turns: readonly Turn[];
  readonly weight: PromptWeight;
  readonly tools: readonly Tool[];
  readonly choice: ToolChoice;
  readonly parallel: boolean;
  readonly outputLimit?: number;
  readonly stops: readonly string[];
  /** A JSON schema the text must fit, or `{}` for any object. */
  readonly format?: unknown;
  readonly thinks: boolean;
}

export type Finish = 'end' | 'length' | 'tools' | 'stop-sequence' | 'filter';

export interface Answer {
  /** Sixteen and more hexadecimal digits, the same for the same conversation. */
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

interface Asked {
  readonly text: string;
  readonly directives: Directives;
  /** Tool-result turns since the question. */
  readonly rounds: number;
}

const emptyTurn: Turn = { text: '', results: [] };

/** Decides the whole answer; a pure function of the conversation. */
export function answerTo(conversation: Conversation): Answer {
  const asked = questionOf(conversation.turns);
  const { directives } = asked;
  const results = conversation.turns.at(-1)?.results ?? [];
  const key = hashName(asked.text, String(conversation.turns.length), results.join('\n'), conversation.model);
  const called = callsFor(conversation, asked, key);
  const thinks = conversation.thinks || directives.has('think');
  const reasoning = thinks ? words(hashText(asked.text) ^ 1, directives.number('think') ?? 12, 'plain') : [];
  const spoken = ['tokens', 'echo', 'aloud'].some((name) => directives.has(name));
  const silent = called.length > 0 && !spoken;
  const text = silent ? [] : textFor(conversation, asked, results);
  const cut = limited({ reasoning, text, calls: called }, conversation, directives);
  return {
    key,
    model: conversation.model,
    ...cut,
    interleave: directives.has('interleave'),
    usage: usageOf(conversation, directives, cut),
    tempo: tempoOf(directives, asked.text),
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

/** Directives of the last user text; after tool results those of the question that led to them. */
export function questionOf(turns: readonly Turn[]): Asked {
  const last = turns.at(-1) ?? emptyTurn;
  let start = turns.length - 1;
  while (start > 0 && (turns[start] ?? emptyTurn).results.length > 0) start--;
  const own = new Directives(last.text);
  const question = turns[start] ?? emptyTurn;
  const usesOwn = own.size > 0 || last.results.length === 0;
  return {
    text: usesOwn ? last.text : question.text,
    directives: usesOwn ? own : new Directives(question.text),
    rounds: turns.length - 1 - start + (question.results.length > 0 ? 1 : 0),
  };
}

function callsFor(conversation: Conversation, asked: Asked, key: string): ToolCall[] {
  const { tools, choice } = conversation;
  if (tools.length === 0 || choice.mode === 'none') return [];
  const wanted = wantedTools(conversation, asked);
  const bare = asked.directives.has('empty-args') || asked.directives.has('no-args');
  const calls = wanted.map(({ tool, given }, index): ToolCall => {
    const input = bare ? {} : (given ?? (minimalValue(tool.schema) as JsonObject));
    return {
      name: tool.name,
      ...(tool.namespace === undefined ? {} : { namespace: tool.namespace }),
      key: `${key}${index}`,
      input,
      arguments: asked.directives.has('no-args') ? '' : JSON.stringify(input),
    };
  });
  return conversation.parallel ? calls : calls.slice(0, 1);
}

interface WantedTool {
  readonly tool: Tool;
  readonly given?: JsonObject;
}

function wantedTools({ tools, choice }: Conversation, { directives, rounds }: Asked): WantedTool[] {
  const steps = directives.number('steps') ?? 1;
  if (rounds >= steps) return [];
  const named = directives.all('tool').flatMap((value) => namedTool(value, tools));
  if (named.length > 0) return named;
  const count = directives.number('tools') ?? (directives.has('steps') ? 1 : 0);
  if (count > 0) return Array.from({ length: count }, (_, index) => wanted(tools[index % tools.length]));
  // A caller who insists on a tool gets one; once it has the result, text ends the loop.
  if (choice.mode === 'any') return [wanted(tools[0])];
  if (choice.mode === 'named') return [wanted(tools.find((tool) => tool.name === choice.name) ?? tools[0])];
  return [];
}

function wanted(tool: Tool | undefined): WantedTool {
  return { tool: tool ?? { name: 'none', schema: {} } };
}

/** `name` or `name({"json":"arguments"})`; a tool the request does not offer is not called. */
function namedTool(value: string, tools: readonly Tool[]): WantedTool[] {
  const open = value.indexOf('(');
  const name = open < 0 ? value : value.slice(0, open);
  const tool = tools.find((candidate) => candidate.name === name);
  if (tool === undefined) return [];
  const given = open < 0 ? undefined : parseJson(value.slice(open + 1, value.lastIndexOf(')')))?.value;
  return [given === undefined ? { tool } : { tool, given: given as JsonObject }];
}

function textFor(
  { format, model }: Conversation,
  { text, directives }: Asked,
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
  const said = words(seed, count ?? 12 + (seed % 20), directives.has('unicode') ? 'unicode' : 'plain');
  return withMistakes(said, text, model);
}

type Parts = Pick<Answer, 'reasoning' | 'text' | 'calls'>;
type Cut = Parts & Pick<Answer, 'finish' | 'stopSequence'>;

/** Applies the filter, the stop sequences and the output limit, in that order. */
function limited(parts: Parts, conversation: Conversation, directives: Directives): Cut {
  if (directives.text('filter') === 'answer') {
    return { ...parts, calls: [], text: parts.text.slice(0, 3), finish: 'filter' };
  }
  const stopped = stopAt(parts.text, conversation.stops);
  const limit = conversation.outputLimit ?? Infinity;
  const reasoning = parts.reasoning.slice(0, limit);
  const text = stopped.text.slice(0, limit - reasoning.length);
  const left = limit - reasoning.length - text.length;
  const calls = callTokens(parts.calls) <= left ? parts.calls : [];
  const short =
    reasoning.length < parts.reasoning.length ||
    text.length < stopped.text.length ||
    calls.length < parts.calls.length;
  if (short) return { reasoning, text, calls, finish: 'length' };
  if (stopped.sequence !== undefined) {
    return { reasoning, text, calls: [], finish: 'stop-sequence', stopSequence: stopped.sequence };
  }
  return { reasoning, text, calls, finish: calls.length > 0 ? 'tools' : 'end' };
}

function stopAt(
  pieces: readonly string[],
  stops: readonly string[],
): { text: readonly string[]; sequence?: string } {
  if (stops.length === 0) return { text: pieces };
  const whole = pieces.join('');
  const hits = stops
    .map((sequence) => ({ sequence, at: whole.indexOf(sequence) }))
    .filter(({ at }) => at >= 0)
    .sort((left, right) => left.at - right.at);
  const first = hits[0];
  return first === undefined
    ? { text: pieces }
    : { text: piecesOf(whole.slice(0, first.at), 4), sequence: first.sequence };
}

function callTokens(calls: readonly ToolCall[]): number {
  return calls.reduce((sum, call) => sum + countTokens(call.name + call.arguments), 0);
}

function usageOf(conversation: Conversation, directives: Directives, parts: Parts): Usage {
  return {
    uncachedInput: countPrompt(conversation.weight),
    cacheRead: directives.number('cached') ?? 0,
    cacheWrite: directives.number('cache-write') ?? 0,
    output: countTokens(parts.text.join('')) + callTokens(parts.calls),
    reasoning: countTokens(parts.reasoning.join('')),
  };
}

/** `[[delay=300-1500]]` picks one value of the range by the text. */
function tempoOf(directives: Directives, text: string): Tempo {
  const [least, most] = (directives.text('delay') ?? '0').split('-').map(Number);
  const from = least ?? 0;
  return {
    delayMs: most === undefined ? from : from + (hashText(text) % Math.max(1, most - from)),
    firstTokenMs: directives.number('first') ?? 0,
    ...(directives.has('pace') ? { paceMs: directives.number('pace') ?? 0 } : {}),
  };
}
