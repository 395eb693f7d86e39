import { hashName } from './hash';
import { listOf, objectOf, type JsonObject } from './json';

/**
 * Suppliers bind reasoning with `--account` to the account, and for messages to the conversation before it.
 * Words and rules of 26 November 2026: platform.claude.com/docs (thinking, models/haiku-5-5/migration-guide),
 * the typings of @anthropic-ai/sdk 1.14.0, and for encrypted reasoning
 * github.com/Wei-Shaw/sub2api/issues/3138.
 */
export function boundSignature(account: string, thinking: string, body: JsonObject, path: string): string {
  const own = account === '' ? '' : `${account}:${hashName(conversationBefore(body, path))}:`;
  return Buffer.from(`sim:${own}${hashName(thinking)}`).toString('base64');
}

/** The path of the block that an answer to this body begins with. */
export const answerPath = (body: JsonObject): string =>
  `messages.${listOf(body['messages']).length}.content.0`;

export const encryptedReasoning = (account: string, key: string): string =>
  Buffer.from(`sim:${account === '' ? '' : `${account}:`}${key}`).toString('base64');

export const isOfAccount = (encrypted: string, account: string): boolean =>
  account === '' || Buffer.from(encrypted, 'base64').toString().startsWith(`sim:${account}:`);

/** Marks of the cache are no part of the conversation. */
function conversationBefore(body: JsonObject, path: string): string {
  const [message = 0, block = 0] = (path.match(/\d+/g) ?? []).map(Number);
  const messages = listOf(body['messages']);
  const begun = listOf(objectOf(messages[message])['content']).slice(0, block);
  return JSON.stringify([messages.slice(0, message), begun], (name, value: unknown) =>
    name === 'cache_control' ? undefined : value,
  );
}
