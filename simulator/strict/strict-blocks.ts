import type { Complaint } from '../complaint';
import { entryOf, isObject, listOf, objectOf, textOf, type JsonObject } from '../json';
import { fieldSet, firstOf, unknownField, type Check } from './strict';

/** Signature of the thinking at a path; undefined for the vendor's own models, which have separate rules. */
export type ThinkingSigner = ((thinking: string, path: string) => string) | undefined;

const blockFields: Readonly<Record<string, ReadonlySet<string>>> = {
  text: fieldSet('type text cache_control citations'),
  image: fieldSet('type source cache_control'),
  document: fieldSet('type source cache_control title context citations'),
  tool_use: fieldSet('type id name input cache_control caller'),
  tool_result: fieldSet('type tool_use_id content is_error cache_control'),
  thinking: fieldSet('type thinking signature'),
  redacted_thinking: fieldSet('type data'),
};
const rolesOf: Readonly<Record<string, readonly string[]>> = {
  text: ['user', 'assistant', 'system'],
  image: ['user'],
  document: ['user'],
  tool_use: ['assistant'],
  tool_result: ['user'],
  thinking: ['assistant'],
  redacted_thinking: ['assistant'],
};
const imageTypes = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'];
const identifier = /^[a-zA-Z0-9_-]+$/;
const MAX_CACHE_CONTROLS = 4;

function complain(message: string): Complaint {
  return { message };
}

export function checkBlock(block: JsonObject, path: string, role: string, sign: ThinkingSigner): Check {
  const type = textOf(block['type']);
  const allowed = entryOf(blockFields, type);
  if (allowed === undefined) {
    return complain(
      `${path}: Input tag '${type}' found using 'type' does not match any of the expected tags`,
    );
  }
  if (!entryOf(rolesOf, type)?.includes(role)) {
    return complain(`${path}: \`${type}\` blocks are not allowed in \`${role}\` messages`);
  }
  const unknown = unknownField(block, allowed);
  if (unknown !== undefined) return complain(`${path}.${type}.${unknown}: Extra inputs are not permitted`);
  switch (type) {
    case 'text':
      return checkText(block);
    case 'image':
      return checkImage(objectOf(block['source']), path);
    case 'tool_use':
      return checkToolUse(block, path);
    case 'tool_result':
      return checkToolResult(block, path, sign);
    case 'thinking':
      return checkSignature(block, path, sign);
    default:
      return undefined;
  }
}

function checkText(block: JsonObject): Check {
  const text = textOf(block['text']);
  if (text === '') return complain('messages: text content blocks must be non-empty');
  return text.trim() === ''
    ? complain('messages: text content blocks must contain non-whitespace text')
    : undefined;
}

function checkImage(source: JsonObject, path: string): Check {
  if (source['type'] === 'url' || source['type'] === 'file') return undefined;
  if (source['type'] !== 'base64') return complain(`${path}.image.source.type: Field required`);
  if (!imageTypes.includes(textOf(source['media_type']))) {
    return complain(
      `${path}.image.source.base64.media_type: Input should be one of ${imageTypes.join(', ')}`,
    );
  }
  return /^[A-Za-z0-9+/]+={0,2}$/.test(textOf(source['data']))
    ? undefined
    : complain(`${path}.image.source.base64.data: Invalid base64`);
}

function checkToolUse(block: JsonObject, path: string): Check {
  if (!identifier.test(textOf(block['id']))) {
    return complain(`${path}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'`);
  }
  if (textOf(block['name']) === '') return complain(`${path}.tool_use.name: Field required`);
  return isObject(block['input'])
    ? undefined
    : complain(`${path}.tool_use.input: Input should be a valid dictionary`);
}

function checkToolResult(block: JsonObject, path: string, sign: ThinkingSigner): Check {
  const content = block['content'];
  if (content === undefined || typeof content === 'string') return undefined;
  if (!Array.isArray(content)) return complain(`${path}.tool_result.content: Input should be a valid list`);
  return firstOf(content.map(objectOf), (inner, index) => {
    const type = textOf(inner['type']);
    if (type === 'tool_reference' || type === 'search_result') return undefined;
    return ['text', 'image', 'document'].includes(type)
      ? checkBlock(inner, `${path}.tool_result.content.${index}`, 'user', sign)
      : complain(
          `${path}.tool_result.content.${index}: Input tag '${type}' does not match the expected tags`,
        );
  });
}

function checkSignature(block: JsonObject, path: string, sign: ThinkingSigner): Check {
  if (typeof block['signature'] !== 'string') return complain(`${path}.thinking.signature: Field required`);
  return sign === undefined || block['signature'] === sign(textOf(block['thinking']), path)
    ? undefined
    : complain(`${path}: Invalid \`signature\` in \`thinking\` block`);
}

/** Allows at most four cache marks per request, each of a known type. */
export function checkCacheControls(body: JsonObject): Check {
  const marks = [...listOf(body['tools']), ...listOf(body['system'])]
    .concat(listOf(body['messages']).flatMap((message) => listOf(objectOf(message)['content'])))
    .flatMap((block) => [block, ...listOf(objectOf(block)['content'])])
    .map((block) => objectOf(block)['cache_control'])
    .filter((mark) => mark !== undefined && mark !== null)
    .map(objectOf);
  if (marks.length > MAX_CACHE_CONTROLS) {
    return complain(
      `A maximum of ${MAX_CACHE_CONTROLS} blocks with cache_control may be provided. Found ${marks.length}.`,
    );
  }
  return firstOf(marks, (mark) => {
    if (mark['type'] !== 'ephemeral') return complain("cache_control.type: Input should be 'ephemeral'");
    return [undefined, '5m', '1h'].includes(mark['ttl'] as string | undefined)
      ? undefined
      : complain("cache_control.ttl: Input should be '5m' or '1h'");
  });
}
