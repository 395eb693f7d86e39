import { completionTokens, type JsonFields, promptTokens, totalTokens, type Usage } from '../kernel';
import { type DialectName, type JsonObject } from './canonical';
import { chatId } from './chat/stream-encoder';
import { renderChatUsage } from './chat/usage';
import { renderEmbeddingsUsage } from './embeddings/usage';
import { messagesId } from './messages/stream-encoder';
import { renderMessagesUsage } from './messages/usage';
import { fieldsLacking, responsesId } from './responses/envelope';
import { renderResponsesUsage } from './responses/usage';
import { isRecord } from './usage';

/** The whole answers whose fields are named, also where a supplier of the caller's own dialect leaves some out. */
export type AnswerForm = DialectName | 'completions' | 'embeddings';

/** These facts are charged for an answer, and name the request that it belongs to. */
export interface AnswerFacts {
  readonly usage: Usage;
  readonly requestId: string;
  /** Fields of the request that a response repeats. */
  readonly request: JsonObject;
}

/** The members of an answer that are missing, or say other tokens than the bill; empty for most answers. */
export function membersLacking(form: AnswerForm, answer: JsonFields, facts: AnswerFacts): JsonObject {
  return {
    ...absent(answer, namedIn(form, answer, facts)),
    ...(form === 'responses' ? fieldsLacking(answer, answer.status ?? 'completed', facts.request) : {}),
    ...listLacking(form, answer),
    ...usageLacking(form, answer, facts.usage),
  };
}

const isAbsent = (value: unknown): boolean => value === undefined || value === null || value === '';

function absent(given: JsonFields, wanted: JsonFields): JsonObject {
  const added: Record<string, unknown> = {};
  for (const name in wanted) if (isAbsent(given[name])) added[name] = wanted[name];
  return added;
}

function namedIn(form: AnswerForm, answer: JsonFields, { requestId }: AnswerFacts): JsonObject {
  switch (form) {
    case 'chat':
      return { id: chatId(requestId), object: 'chat.completion' };
    case 'completions':
      return { id: `cmpl-${requestId}`, object: 'text_completion' };
    case 'messages':
      return {
        id: messagesId(requestId),
        type: 'message',
        role: 'assistant',
        stop_reason: stopReasonOf(answer),
      };
    case 'responses':
      return { id: responsesId(requestId), object: 'response', status: 'completed' };
    case 'embeddings':
      return { object: 'list' };
  }
}

/** A list with an item that lacks something is written anew; others keep their bytes. */
function listLacking(form: AnswerForm, { choices, data }: JsonFields): JsonObject {
  if (form === 'chat') return itemsLacking('choices', choices, choiceLacking);
  if (form === 'completions')
    return itemsLacking('choices', choices, (choice, index) =>
      absent(choice, { index, finish_reason: 'stop' }),
    );
  if (form === 'embeddings')
    return itemsLacking('data', data, (item, index) => absent(item, { object: 'embedding', index }));
  return {};
}

function itemsLacking(
  name: string,
  list: unknown,
  lacking: (item: JsonFields, index: number) => JsonObject,
): JsonObject {
  if (!Array.isArray(list)) return {};
  let isWhole = true;
  const items = list.map((item: unknown, index) => {
    if (!isRecord(item)) return item;
    const added = lacking(item, index);
    if (Object.keys(added).length === 0) return item;
    isWhole = false;
    return { ...item, ...added };
  });
  return isWhole ? {} : { [name]: items };
}

function choiceLacking(choice: JsonFields, index: number): JsonObject {
  const { message } = choice;
  const held = isRecord(message) ? message : {};
  const calls = Array.isArray(held.tool_calls) && held.tool_calls.length > 0;
  const parts = {
    ...(held.role === 'assistant' ? {} : { role: 'assistant' }),
    ...(held.content === undefined ? { content: null } : {}),
  };
  return {
    ...absent(choice, { index, finish_reason: calls ? 'tool_calls' : 'stop' }),
    ...(Object.keys(parts).length > 0 ? { message: { ...held, ...parts } } : {}),
  };
}

const stopReasonOf = ({ content }: JsonFields): string =>
  Array.isArray(content) && content.some((block) => isRecord(block) && block.type === 'tool_use')
    ? 'tool_use'
    : 'end_turn';

function usageLacking(form: AnswerForm, { usage: told }: JsonFields, usage: Usage): JsonObject {
  const mended = mendedUsage(form, isRecord(told) ? told : null, usage);
  return mended === null ? {} : { usage: mended };
}

/**
 * The usage of an answer as it is charged; null where the caller is told the same. Parts that stand beside the counts
 * of the whole, such as compactions, are told as their supplier tells them.
 */
export function mendedUsage(
  form: AnswerForm,
  told: JsonFields | null,
  usage: Usage,
  held: JsonFields | null = told,
): JsonObject | null {
  if (told === null) return renderers[form](usage);
  const isSame =
    usage.parts !== null || totalsOf(form, told, usage).every(([said, charged]) => said === charged);
  return isSame ? null : { ...held, ...renderers[form](usage) };
}

const renderers: Readonly<Record<AnswerForm, (usage: Usage) => JsonObject>> = {
  chat: renderChatUsage,
  completions: renderChatUsage,
  messages: renderMessagesUsage,
  responses: renderResponsesUsage,
  embeddings: renderEmbeddingsUsage,
};

/** Each total of the answer stands beside the one that is charged. */
function totalsOf(form: AnswerForm, told: JsonFields, usage: Usage): readonly (readonly [unknown, number])[] {
  const [input, output, total] = [promptTokens(usage), completionTokens(usage), totalTokens(usage)];
  switch (form) {
    case 'chat':
    case 'completions':
      return [
        [told.prompt_tokens, input],
        [told.completion_tokens, output],
        [told.total_tokens, total],
      ];
    case 'messages':
      return [
        [sumOf(told, 'input_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens'), input],
        [told.output_tokens, output],
      ];
    case 'responses':
      return [
        [told.input_tokens, input],
        [told.output_tokens, output],
        [told.total_tokens, total],
      ];
    case 'embeddings':
      return [
        [told.prompt_tokens, total],
        [told.total_tokens, total],
      ];
  }
}

const sumOf = (told: JsonFields, ...names: readonly string[]): number =>
  names.reduce((sum, name) => sum + Number(told[name] ?? 0), 0);
