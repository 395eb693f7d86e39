import {
  argumentsText,
  type AssistantBlock,
  type ContentBlock,
  type DocumentBlock,
  FieldReader,
  type ImageBlock,
  join,
  joinText,
  listAt,
  malformed,
  unsealReasoning,
  type OpaqueBlock,
  type RequestPart,
  type SystemTurn,
  type TextBlock,
  type ToolResultBlock,
  type CanonicalTurn,
  unsupported,
} from '../canonical';
import { pick } from '../usage';

/** Adds the cache mark and unread fields; to be called after all other fields have been read. */
function withRest<T extends RequestPart>(block: T, fields: FieldReader): T {
  const cacheControl = fields.record('cache_control');
  const opaque = fields.rest('messages');
  return { ...block, ...(cacheControl && { cacheControl }), ...(opaque.length > 0 && { opaque }) };
}

function blocks<T>(fields: FieldReader, name: string, read: (block: FieldReader) => T[]): (T | TextBlock)[] {
  const content = fields.raw(name);
  const at = fields.path(name);
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content, at }];
  if (!Array.isArray(content)) throw malformed(at, 'a string or a list of blocks');
  return listAt(content, at).flatMap((value, index) => read(new FieldReader(value, join(at, index))));
}

const textBlock = (block: FieldReader): TextBlock =>
  withRest({ type: 'text', text: block.requireText('text'), at: block.at }, block);

function opaqueBlock(block: FieldReader, essential: boolean, text?: string): OpaqueBlock {
  const cacheControl = block.record('cache_control');
  return {
    type: 'opaque',
    dialect: 'messages',
    value: block.all(),
    essential,
    at: block.at,
    ...(text !== undefined && { text }),
    ...(cacheControl && { cacheControl }),
  };
}

function imageBlock(block: FieldReader): ImageBlock | OpaqueBlock {
  const source = block.requireFields('source');
  const type = source.requireText('type');
  // A file uploaded to one supplier is unknown to every other.
  if (type === 'file') return opaqueBlock(block, true);
  if (type === 'url') {
    return withRest(
      { type: 'image', source: { kind: 'url', url: source.requireText('url') }, at: block.at },
      block,
    );
  }
  if (type !== 'base64') throw malformed(source.path('type'), "'base64', 'url' or 'file'");
  const [mediaType, data] = [source.requireText('media_type'), source.requireText('data')];
  return withRest({ type: 'image', source: { kind: 'data', mediaType, data }, at: block.at }, block);
}

function documentBlock(block: FieldReader): DocumentBlock | OpaqueBlock {
  const source = block.requireFields('source');
  const type = source.requireText('type');
  if (type === 'file') return opaqueBlock(block, true);
  if (type === 'content') return opaqueBlock(block, true, textInside(source.raw('content')));
  const title = block.text('title');
  const document = (documentSource: DocumentBlock['source']): DocumentBlock =>
    withRest(
      { type: 'document', source: documentSource, at: block.at, ...(title !== undefined && { title }) },
      block,
    );
  switch (type) {
    case 'text':
      source.skip('media_type');
      return document({ kind: 'text', text: source.requireText('data') });
    case 'url':
      return document({ kind: 'url', url: source.requireText('url') });
    case 'base64': {
      const [mediaType, data] = [source.requireText('media_type'), source.requireText('data')];
      return document({ kind: 'data', mediaType, data });
    }
    default:
      throw malformed(source.path('type'), "'base64', 'text', 'content', 'url' or 'file'");
  }
}

/** The text of content that has a structure only in this dialect; undefined if it contains anything else. */
function textInside(content: unknown): string | undefined {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return undefined;
  const texts = content.map((part) => pick(part, 'text'));
  return texts.every((text) => typeof text === 'string') ? texts.join('\n\n') : undefined;
}

function searchResult(block: FieldReader): OpaqueBlock {
  const [title, source] = [block.requireText('title'), block.requireText('source')];
  const text = textInside(block.raw('content')) ?? '';
  return opaqueBlock(block, true, joinText([{ text: `${title} (${source})` }, { text }], '\n\n'));
}

function contentBlock(block: FieldReader): ContentBlock[] {
  const type = block.requireText('type');
  switch (type) {
    case 'text':
      return [textBlock(block)];
    case 'image':
      return [imageBlock(block)];
    case 'document':
      return [documentBlock(block)];
    case 'search_result':
      return [searchResult(block)];
    case 'tool_reference': {
      const name = block.requireText('tool_name');
      return [opaqueBlock(block, true, `The tool ${name} is available.`)];
    }
    case 'container_upload':
      return [opaqueBlock(block, true)];
    default:
      throw unsupported(block.path('type'), `The content type '${type}' is not supported.`);
  }
}

function toolResult(block: FieldReader): ToolResultBlock {
  const toolUseId = block.requireText('tool_use_id');
  const content =
    block.raw('content') === undefined ? [] : blocks<ContentBlock>(block, 'content', contentBlock);
  const isError = block.flag('is_error');
  const base: ToolResultBlock = { type: 'tool-result', toolUseId, blocks: content, at: block.at };
  return withRest(isError === undefined ? base : { ...base, isError }, block);
}

function assistantBlock(block: FieldReader): AssistantBlock[] {
  const type = block.requireText('type');
  const { at } = block;
  switch (type) {
    case 'text':
      return [textBlock(block)];
    case 'thinking': {
      const text = block.requireText('thinking');
      const reasoning = unsealReasoning(block.text('signature'), text, 'messages');
      return [withRest({ type: 'reasoning', text, ...reasoning, at }, block)];
    }
    case 'redacted_thinking': {
      const signature = block.requireText('data');
      return [
        withRest({ type: 'reasoning', text: '', origin: 'messages', signature, redacted: true, at }, block),
      ];
    }
    case 'tool_use': {
      const [id, name] = [block.requireText('id'), block.requireText('name')];
      const input = argumentsText(block.raw('input'));
      if (input === undefined) throw malformed(block.path('input'), 'an object');
      return [withRest({ type: 'tool-use', id, name, arguments: input, at }, block)];
    }
    default:
      // Past work of the supplier's own tools: their calls and results.
      return [opaqueBlock(block, false)];
  }
}

/** Results come first, as every supplier requires. */
function userTurns(message: FieldReader): CanonicalTurn[] {
  const read = (block: FieldReader): (ContentBlock | ToolResultBlock)[] =>
    block.raw('type') === 'tool_result' ? [toolResult(block)] : contentBlock(block);
  const all = blocks<ContentBlock | ToolResultBlock>(message, 'content', read);
  const results = all.filter((block) => block.type === 'tool-result');
  const rest = all.filter((block) => block.type !== 'tool-result');
  const { at } = message;
  const turns: CanonicalTurn[] = results.length > 0 ? [{ role: 'tool', results, at }] : [];
  if (rest.length > 0 || results.length === 0) turns.push({ role: 'user', blocks: rest, at });
  return turns;
}

export function decodeSystem(fields: FieldReader, name: string, at: string): SystemTurn {
  return { role: 'system', blocks: blocks(fields, name, (block) => [systemBlock(block)]), at };
}

function systemBlock(block: FieldReader): TextBlock {
  if (block.raw('type') !== 'text') throw malformed(block.path('type'), "'text'");
  return textBlock(block);
}

export function decodeMessage(value: unknown, at: string): CanonicalTurn[] {
  const message = new FieldReader(value, at);
  const role = message.requireText('role');
  const turns = turnsOf(message, role);
  const last = turns.length - 1;
  turns[last] = withRest(turns[last]!, message);
  return turns;
}

function turnsOf(message: FieldReader, role: string): CanonicalTurn[] {
  const { at } = message;
  switch (role) {
    case 'user':
      return userTurns(message);
    case 'assistant':
      return [{ role, blocks: blocks<AssistantBlock>(message, 'content', assistantBlock), at }];
    case 'system':
      return [decodeSystem(message, 'content', at)];
    default:
      throw malformed(message.path('role'), "'user', 'assistant' or 'system'");
  }
}
