import type { OperationName, WireDialect } from '../suppliers/kit';

/** What a connectivity test asks for: as little as each form allows. */
export const PROBED_OPERATIONS = [
  'chat',
  'messages',
  'responses',
  'embeddings',
  'rerank',
  'moderation',
] as const;
export type ProbedOperation = Extract<OperationName, (typeof PROBED_OPERATIONS)[number]>;

const WORD = 'ping';
/** The least that every supplier takes. */
const FEW_TOKENS = 16;

export function probeBody(dialect: WireDialect, model: string): Record<string, unknown> | undefined {
  const messages = [{ role: 'user', content: WORD }];
  switch (dialect) {
    case 'chat':
    case 'messages':
      return { model, messages, max_tokens: FEW_TOKENS };
    case 'responses':
      return { model, input: WORD, max_output_tokens: FEW_TOKENS };
    case 'gemini':
      return {
        contents: [{ role: 'user', parts: [{ text: WORD }] }],
        generationConfig: { maxOutputTokens: FEW_TOKENS },
      };
    case 'embeddings':
    case 'moderation':
      return { model, input: WORD };
    case 'rerank':
      return { model, query: WORD, documents: [WORD] };
    case 'completions':
    case 'image':
    case 'speech':
    case 'transcription':
    case 'translation':
      return undefined;
  }
}

/** The list that an answer of this form cannot do without. */
const lists: Readonly<Partial<Record<WireDialect, string>>> = {
  chat: 'choices',
  messages: 'content',
  responses: 'output',
  gemini: 'candidates',
  embeddings: 'data',
  rerank: 'results',
  moderation: 'results',
};

/** What an answer lacks of its form; undefined when nothing. A model that spends its few tokens on thought says nothing. */
export function lackOf(dialect: WireDialect, body: unknown): string | undefined {
  const list = lists[dialect] ?? '';
  const isSound = typeof body === 'object' && body !== null && Array.isArray(Reflect.get(body, list));
  return isSound ? undefined : list;
}
