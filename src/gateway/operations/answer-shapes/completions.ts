import { fault, type JsonFields, parseJsonText, SseScanner } from '../../../kernel';

/** Default output limit of the legacy route, sent to suppliers because some have no limit. */
export const DEFAULT_COMPLETION_TOKENS = 16;

/** Number of billed completions: each prompt gets `n` of them, or `best_of`, all of which are charged. */
export function countCompletions({ prompt, n, best_of: bestOf }: JsonFields): number {
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

interface CompletionChoice {
  readonly index: number;
  text: string;
  finish_reason: unknown;
  readonly logprobs: null;
}

export function joinCompletion(bytes: Buffer): JsonFields {
  const choices = new Map<number, CompletionChoice>();
  let answer: JsonFields = {};
  let isBroken = false;
  let ended = false;
  const scanner = new SseScanner({
    onData: (data, complete) => {
      const text = data.toString('utf8').trim();
      if (ended || text === '') return;
      if (text === '[DONE]') ended = true;
      else if (!complete) isBroken = true;
      else answer = { ...answer, ...addChunk(text, choices) };
    },
  });
  scanner.push(bytes);
  scanner.end();
  const sortedChoices = [...choices.values()].sort((one, other) => one.index - other.index);
  const areComplete = sortedChoices.every(({ finish_reason: reason }) => typeof reason === 'string');
  if (answer.error === undefined && (isBroken || !areComplete)) throw fault('agentcli_incomplete_stream');
  return { ...answer, choices: sortedChoices };
}

function addChunk(text: string, choices: Map<number, CompletionChoice>): JsonFields {
  const { choices: newChoices, ...rest } = parseObject(text);
  for (const choice of Array.isArray(newChoices) ? newChoices : []) {
    if (typeof choice !== 'object' || choice === null) continue;
    const { index: choiceIndex, text: newText, finish_reason: reason } = choice as JsonFields;
    const index = countOf(choiceIndex ?? 0);
    const joined = choices.get(index) ?? { index, text: '', finish_reason: null, logprobs: null };
    joined.text += typeof newText === 'string' ? newText : '';
    joined.finish_reason = reason ?? joined.finish_reason;
    choices.set(index, joined);
  }
  return Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== null));
}

function parseObject(text: string): JsonFields {
  try {
    const value: unknown = parseJsonText(text);
    if (typeof value === 'object' && value !== null) return value as JsonFields;
  } catch {
    // The error below leaves out the text.
  }
  throw fault('non_json_provider_response');
}
