import {
  argumentsText,
  type AssistantBlock,
  type ContentBlock,
  type DocumentBlock,
  Fields,
  type ImageBlock,
  join,
  joinText,
  listAt,
  malformed,
  opened,
  type OpaqueBlock,
  type Part,
  type SystemTurn,
  type TextBlock,
  type ToolResultBlock,
  type Turn,
  unsupported,
} from '../canonical';
import { pick } from '../usage';

/** Marks and unknown fields, once everything else of a block has been read. */
function withRest<T extends Part>(block: T, fields: Fields): T {
  const cacheControl = fields.record('cache_control');
  const opaque = fields.rest('messages');
  return { ...block, ...(cacheControl && { cacheControl }), ...(opaque.length > 0 && { opaque }) };
}

/** The blocks of a content field; a plain string is one text. */
function blocks<T>(fields: Fields, name: string, read: (block: Fields) => T[]): (T | TextBlock)[] {
  const content = fields.raw(name);
  const at = fields.path(name);
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content, at }];
  if (!Array.isArray(content)) throw malformed(at, 'a string or a list of blocks');
  return listAt(content, at).flatMap((value, index) => read(new Fields(value, join(at, index))));
}

const textBlock = (block: Fields): TextBlock =>
  withRest({ type: 'text', text: block.needText('text'), at: block.at }, block);

function opaqueBlock(block: Fields, essential: boolean, text?: string): OpaqueBlock {
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

function imageBlock(block: Fields): ImageBlock | OpaqueBlock {
  const source = block.needFields('source');
  const type = source.needText('type');
  // A file that was uploaded to one supplier is unknown to every other.
  if (type === 'file') return opaqueBlock(block, true);
  if (type === 'url') {
    return withRest(
      { type: 'image', source: { kind: 'url', url: source.needText('url') }, at: block.at },
      block,
    );
  }
  if (type !== 'base64') throw malformed(source.path('type'), "'base64', 'url' or 'file'");
  const [mediaType, data] = [source.needText('media_type'), source.needText('data')];
  return withRest({ type: 'image', source: { kind: 'data', mediaType, data }, at: block.at }, block);
}

function documentBlock(block: Fields): DocumentBlock | OpaqueBlock {
  const source = block.needFields('source');
  const type = source.needText('type');
  if (type === 'file') return opaqueBlock(block, true);
  if (type === 'content') return opaqueBlock(block, true, textInside(source.raw('content')));
  const title = block.text('title');
  const document = (from: DocumentBlock['source']): DocumentBlock =>
    withRest({ type: 'document', source: from, at: block.at, ...(title !== undefined && { title }) }, block);
  switch (type) {
    case 'text':
      source.skip('media_type');
      return document({ kind: 'text', text: source.needText('data') });
    case 'url':
      return document({ kind: 'url', url: source.needText('url') });
    case 'base64': {
      const [mediaType, data] = [source.needText('media_type'), source.needText('data')];
      return document({ kind: 'data', mediaType, data });
    }
    default:
      throw malformed(source.path('type'), "'base64', 'text', 'content', 'url' or 'file'");
  }
}

/** The words of content that only this dialect has a structure for; undefined when there are others things in it. */
function textInside(content: unknown): string | undefined {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return undefined;
  const texts = content.map((part) => pick(part, 'text'));
  return texts.every((text) => typeof text === 'string') ? texts.join('\n\n') : undefined;
}

function searchResult(block: Fields): OpaqueBlock {
  const [title, source] = [block.needText('title'), block.needText('source')];
  const text = textInside(block.raw('content')) ?? '';
  return opaqueBlock(block, true, joinText([{ text: `${title} (${source})` }, { text }], '\n\n'));
}

function contentBlock(block: Fields): ContentBlock[] {
  const type = block.needText('type');
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
      const name = block.needText('tool_name');
      return [opaqueBlock(block, true, `The tool ${name} is available.`)];
    }
    case 'container_upload':
      return [opaqueBlock(block, true)];
    default:
      throw unsupported(block.path('type'), `The content type '${type}' is not supported.`);
  }
}

function toolResult(block: Fields): ToolResultBlock {
  const toolUseId = block.needText('tool_use_id');
  const content =
    block.raw('content') === undefined ? [] : blocks<ContentBlock>(block, 'content', contentBlock);
  const isError = block.flag('is_error');
  const base: ToolResultBlock = { type: 'tool-result', toolUseId, blocks: content, at: block.at };
  return withRest(isError === undefined ? base : { ...base, isError }, block);
}

function assistantBlock(block: Fields): AssistantBlock[] {
  const type = block.needText('type');
  const { at } = block;
  switch (type) {
    case 'text':
      return [textBlock(block)];
    case 'thinking': {
      const text = block.needText('thinking');
      const signed = opened(block.text('signature'), text, 'messages');
      return [withRest({ type: 'reasoning', text, ...signed, at }, block)];
    }
    case 'redacted_thinking': {
      const signature = block.needText('data');
      return [
        withRest({ type: 'reasoning', text: '', origin: 'messages', signature, redacted: true, at }, block),
      ];
    }
    case 'tool_use': {
      const [id, name] = [block.needText('id'), block.needText('name')];
      const input = argumentsText(block.raw('input'));
      if (input === undefined) throw malformed(block.path('input'), 'an object');
      return [withRest({ type: 'tool-use', id, name, arguments: input, at }, block)];
    }
    default:
      // The supplier did this by itself in an earlier turn: calls of its own tools and their results.
      return [opaqueBlock(block, false)];
  }
}

/** Results are put first, as every supplier requires. */
function userTurns(message: Fields): Turn[] {
  const read = (block: Fields): (ContentBlock | ToolResultBlock)[] =>
    block.raw('type') === 'tool_result' ? [toolResult(block)] : contentBlock(block);
  const all = blocks<ContentBlock | ToolResultBlock>(message, 'content', read);
  const results = all.filter((block) => block.type === 'tool-result');
  const rest = all.filter((block) => block.type !== 'tool-result');
  const { at } = message;
  const turns: Turn[] = results.length > 0 ? [{ role: 'tool', results, at }] : [];
  if (rest.length > 0 || results.length === 0) turns.push({ role: 'user', blocks: rest, at });
  return turns;
}

export function decodeSystem(fields: Fields, name: string, at: string): SystemTurn {
  return { role: 'system', blocks: blocks(fields, name, (block) => [systemBlock(block)]), at };
}

function systemBlock(block: Fields): TextBlock {
  if (block.raw('type') !== 'text') throw malformed(block.path('type'), "'text'");
  return textBlock(block);
}

export function decodeMessage(value: unknown, at: string): Turn[] {
  const message = new Fields(value, at);
  const role = message.needText('role');
  const turns = turnsOf(message, role);
  const last = turns.length - 1;
  turns[last] = withRest(turns[last]!, message);
  return turns;
}

function turnsOf(message: Fields, role: string): Turn[] {
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
