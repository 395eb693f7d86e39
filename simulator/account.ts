import { hashName } from './hash';
import { listOf, objectOf, type JsonObject } from './json';

/**
 * With `--account`, reasoning is bound to the account and, for Messages, to the preceding conversation. Wording and
 * rules as of 26 November 2026: platform.claude.com/docs (thinking, models/haiku-5-5/migration-guide), the typings of
 * @anthropic-ai/sdk 1.14.0 and, for encrypted reasoning, github.com/Wei-Shaw/sub2api/issues/3138.
 */
export function boundSignature(account: string, thinking: string, body: JsonObject, path: string): string {
  const binding = account === '' ? '' : `${account}:${hashName(conversationBefore(body, path))}:`;
  return Buffer.from(`sim:${binding}${hashName(thinking)}`).toString('base64');
}

/** Path of the first block in the response to this body. */
export const responsePath = (body: JsonObject): string =>
  `messages.${listOf(body['messages']).length}.content.0`;

export const encryptedReasoning = (account: string, key: string): string =>
  Buffer.from(`sim:${account === '' ? '' : `${account}:`}${key}`).toString('base64');

export const isOfAccount = (encrypted: string, account: string): boolean =>
  account === '' || Buffer.from(encrypted, 'base64').toString().startsWith(`sim:${account}:`);

/** Cache marks are not part of the conversation. */
function conversationBefore(body: JsonObject, path: string): string {
  const [message = 0, block = 0] = (path.match(/\d+/g) ?? []).map(Number);
  const messages = listOf(body['messages']);
  const precedingBlocks = listOf(objectOf(messages[message])['content']).slice(0, block);
  return JSON.stringify([messages.slice(0, message), precedingBlocks], (name, value: unknown) =>
    name === 'cache_control' ? undefined : value,
  );
}
