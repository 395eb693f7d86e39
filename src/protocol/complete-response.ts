import { completionTokens, type JsonFields, promptTokens, totalTokens, type Usage } from '../kernel';
import { type DialectName, type JsonObject } from './canonical';
import { chatId } from './chat/stream-encoder';
import { renderChatUsage } from './chat/usage';
import { renderEmbeddingsUsage } from './embeddings/usage';
import { messagesId } from './messages/stream-encoder';
import { renderMessagesUsage } from './messages/usage';
import { missingResponseFields, responsesId } from './responses/envelope';
import { renderResponsesUsage } from './responses/usage';
import { isRecord } from './usage';

/** Kinds of complete responses whose missing fields are added, even if the supplier uses the caller's own dialect. */
export type ResponseKind = DialectName | 'completions' | 'embeddings';

export interface ResponseBilling {
  readonly usage: Usage;
  readonly requestId: string;
  readonly request: JsonObject;
}

export function missingMembers(
  kind: ResponseKind,
  response: JsonFields,
  billing: ResponseBilling,
): JsonObject {
  return {
    ...missingFields(response, expectedFields(kind, response, billing)),
    ...(kind === 'responses'
      ? missingResponseFields(response, response.status ?? 'completed', billing.request)
      : {}),
    ...missingInList(kind, response),
    ...correctedUsageMember(kind, response, billing.usage),
  };
}

const isAbsent = (value: unknown): boolean => value === undefined || value === null || value === '';

function missingFields(actual: JsonFields, expected: JsonFields): JsonObject {
  const added: Record<string, unknown> = {};
  for (const name in expected) if (isAbsent(actual[name])) added[name] = expected[name];
  return added;
}

function expectedFields(
  kind: ResponseKind,
  response: JsonFields,
  { requestId }: ResponseBilling,
): JsonObject {
  switch (kind) {
    case 'chat':
      return { id: chatId(requestId), object: 'chat.completion' };
    case 'completions':
      return { id: `cmpl-${requestId}`, object: 'text_completion' };
    case 'messages':
      return {
        id: messagesId(requestId),
        type: 'message',
        role: 'assistant',
        stop_reason: inferStopReason(response),
      };
    case 'responses':
      return { id: responsesId(requestId), object: 'response', status: 'completed' };
    case 'embeddings':
      return { object: 'list' };
  }
}

/** Rewrites only lists with an incomplete item; others keep their bytes. */
function missingInList(kind: ResponseKind, { choices, data }: JsonFields): JsonObject {
  if (kind === 'chat') return completeItems('choices', choices, missingInChoice);
  if (kind === 'completions')
    return completeItems('choices', choices, (choice, index) =>
      missingFields(choice, { index, finish_reason: 'stop' }),
    );
  if (kind === 'embeddings')
    return completeItems('data', data, (item, index) => missingFields(item, { object: 'embedding', index }));
  return {};
}

function completeItems(
  name: string,
  list: unknown,
  missingIn: (item: JsonFields, index: number) => JsonObject,
): JsonObject {
  if (!Array.isArray(list)) return {};
  let isComplete = true;
  const items = list.map((item: unknown, index) => {
    if (!isRecord(item)) return item;
    const added = missingIn(item, index);
    if (Object.keys(added).length === 0) return item;
    isComplete = false;
    return { ...item, ...added };
  });
  return isComplete ? {} : { [name]: items };
}

function missingInChoice(choice: JsonFields, index: number): JsonObject {
  const { message } = choice;
  const existing = isRecord(message) ? message : {};
  const calls = Array.isArray(existing.tool_calls) && existing.tool_calls.length > 0;
  const parts = {
    ...(existing.role === 'assistant' ? {} : { role: 'assistant' }),
    ...(existing.content === undefined ? { content: null } : {}),
  };
  return {
    ...missingFields(choice, { index, finish_reason: calls ? 'tool_calls' : 'stop' }),
    ...(Object.keys(parts).length > 0 ? { message: { ...existing, ...parts } } : {}),
  };
}

const inferStopReason = ({ content }: JsonFields): string =>
  Array.isArray(content) && content.some((block) => isRecord(block) && block.type === 'tool_use')
    ? 'tool_use'
    : 'end_turn';

function correctedUsageMember(kind: ResponseKind, { usage: reported }: JsonFields, usage: Usage): JsonObject {
  const corrected = correctUsage(kind, isRecord(reported) ? reported : null, usage);
  return corrected === null ? {} : { usage: corrected };
}

/**
 * The usage of a response as charged; null if the reported usage already matches. Members beyond the totals, such as
 * compactions, are passed on as the supplier reports them.
 */
export function correctUsage(
  kind: ResponseKind,
  reported: JsonFields | null,
  usage: Usage,
  base: JsonFields | null = reported,
): JsonObject | null {
  if (reported === null) return renderers[kind](usage);
  const matches =
    usage.parts !== null || totalsOf(kind, reported, usage).every(([said, charged]) => said === charged);
  return matches ? null : { ...base, ...renderers[kind](usage) };
}

const renderers: Readonly<Record<ResponseKind, (usage: Usage) => JsonObject>> = {
  chat: renderChatUsage,
  completions: renderChatUsage,
  messages: renderMessagesUsage,
  responses: renderResponsesUsage,
  embeddings: renderEmbeddingsUsage,
};

function totalsOf(
  kind: ResponseKind,
  reported: JsonFields,
  usage: Usage,
): readonly (readonly [unknown, number])[] {
  const [input, output, total] = [promptTokens(usage), completionTokens(usage), totalTokens(usage)];
  switch (kind) {
    case 'chat':
    case 'completions':
      return [
        [reported.prompt_tokens, input],
        [reported.completion_tokens, output],
        [reported.total_tokens, total],
      ];
    case 'messages':
      return [
        [sumOf(reported, 'input_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens'), input],
        [reported.output_tokens, output],
      ];
    case 'responses':
      return [
        [reported.input_tokens, input],
        [reported.output_tokens, output],
        [reported.total_tokens, total],
      ];
    case 'embeddings':
      return [
        [reported.prompt_tokens, total],
        [reported.total_tokens, total],
      ];
  }
}

const sumOf = (reported: JsonFields, ...names: readonly string[]): number =>
  names.reduce((sum, name) => sum + Number(reported[name] ?? 0), 0);
