import { fault, type JsonFields, parseJsonText, SseScanner } from '../../../kernel';

/** The default output limit of the older route. Suppliers are told, because some have no limit. */
export const USUAL_COMPLETION_TOKENS = 16;

/** Each prompt of a list gets `n` answers; of `best_of` answers the caller sees the best and pays for all. */
export function completionsAsked({ prompt, n, best_of: bestOf }: JsonFields): number {
  const prompts = Array.isArray(prompt) && typeof prompt[0] !== 'number' ? prompt.length : 1;
  return prompts * Math.max(countOf(n), countOf(bestOf));
}

const countOf = (value: unknown): number => (typeof value === 'number' ? value : 1);

export function completionBytes({ choices }: JsonFields): number {
  if (!Array.isArray(choices)) return 0;
  return choices.reduce((sum: number, choice: unknown) => {
    const text: unknown = typeof choice === 'object' && choice !== null ? Reflect.get(choice, 'text') : '';
    return sum + (typeof text === 'string' ? Buffer.byteLength(text) : 0);
  }, 0);
}

interface Choice {
  readonly index: number;
  text: string;
  finish_reason: unknown;
  readonly logprobs: null;
}

/** Joins a stream of pieces into the whole answer that was asked for. An error among them replaces it. */
export function completionOf(bytes: Buffer): JsonFields {
  const choices = new Map<number, Choice>();
  let answer: JsonFields = {};
  let isBroken = false;
  let ended = false;
  const scanner = new SseScanner({
    onData: (data, complete) => {
      const text = data.toString('utf8').trim();
      if (ended || text === '') return;
      if (text === '[DONE]') ended = true;
      else if (!complete) isBroken = true;
      else answer = { ...answer, ...piece(text, choices) };
    },
  });
  scanner.push(bytes);
  scanner.end();
  const given = [...choices.values()].sort((one, other) => one.index - other.index);
  const isWhole = given.every(({ finish_reason: reason }) => typeof reason === 'string');
  if (answer.error === undefined && (isBroken || !isWhole)) throw fault('agentcli_incomplete_stream');
  return { ...answer, choices: given };
}

function piece(text: string, choices: Map<number, Choice>): JsonFields {
  const { choices: given, ...rest } = objectIn(text);
  for (const choice of Array.isArray(given) ? given : []) {
    if (typeof choice !== 'object' || choice === null) continue;
    const { index: place, text: more, finish_reason: reason } = choice as JsonFields;
    const index = countOf(place ?? 0);
    const known = choices.get(index) ?? { index, text: '', finish_reason: null, logprobs: null };
    known.text += typeof more === 'string' ? more : '';
    known.finish_reason = reason ?? known.finish_reason;
    choices.set(index, known);
  }
  return Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== null));
}

function objectIn(text: string): JsonFields {
  try {
    const value: unknown = parseJsonText(text);
    if (typeof value === 'object' && value !== null) return value as JsonFields;
  } catch {
    // The fault below says so, without the text.
  }
  throw fault('non_json_provider_response');
}
