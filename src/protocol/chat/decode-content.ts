import {
  type AssistantBlock,
  type ContentBlock,
  FieldReader,
  type ImageBlock,
  join,
  listAt,
  malformed,
  type Source,
  type TextBlock,
  type ToolUseBlock,
  type CanonicalTurn,
  unsupported,
} from '../canonical';

const dataUrl = /^data:([^;,]+)(?:;[^;,]+)*;base64,/;

/** Splits a data URL into type and data; any other text is an address. */
export function sourceOf(url: string): Source {
  const match = dataUrl.exec(url.slice(0, 200));
  if (!match) return { kind: 'url', url };
  return { kind: 'data', mediaType: match[1]!, data: url.slice(match[0].length) };
}

export const urlOf = (source: Source): string =>
  source.kind === 'url' ? source.url : `data:${source.mediaType};base64,${source.data}`;

function parts<T>(
  fields: FieldReader,
  name: string,
  text: (text: string, at: string) => T,
  part: (part: FieldReader) => T,
): T[] {
  const content = fields.raw(name);
  const at = fields.path(name);
  if (typeof content === 'string') return content === '' ? [] : [text(content, at)];
  if (!Array.isArray(content)) throw malformed(at, 'a string or a list of parts');
  return listAt(content, at).map((value, index) => part(new FieldReader(value, join(at, index))));
}

const textBlock = (text: string, at: string): TextBlock => ({ type: 'text', text, at });

function textPart(part: FieldReader): TextBlock {
  const type = part.requireText('type');
  if (type !== 'text') throw malformed(part.path('type'), "'text'");
  return withRest(textBlock(part.requireText('text'), part.at), part);
}

function withRest<T extends ContentBlock | AssistantBlock>(block: T, part: FieldReader): T {
  const cacheControl = part.record('cache_control');
  const opaque = part.rest('chat');
  return { ...block, ...(cacheControl && { cacheControl }), ...(opaque.length > 0 && { opaque }) };
}

function userPart(part: FieldReader): ContentBlock {
  const type = part.requireText('type');
  switch (type) {
    case 'text':
      return withRest(textBlock(part.requireText('text'), part.at), part);
    case 'image_url':
      return withRest(imagePart(part), part);
    case 'input_audio': {
      const audio = part.requireFields('input_audio');
      const [data, format] = [audio.requireText('data'), audio.requireText('format')];
      return withRest({ type: 'audio', data, format, at: part.at }, part);
    }
    case 'file':
      return withRest(filePart(part), part);
    default:
      throw unsupported(part.path('type'), `The content type '${type}' is not supported.`);
  }
}

function imagePart(part: FieldReader): ImageBlock {
  const image = part.requireFields('image_url');
  const [url, detail] = [image.requireText('url'), image.text('detail')];
  return { type: 'image', source: sourceOf(url), at: part.at, ...(detail !== undefined && { detail }) };
}

function filePart(part: FieldReader): ContentBlock {
  const file = part.requireFields('file');
  const data = file.text('file_data');
  const title = file.text('filename');
  if (data !== undefined) {
    const source = sourceOf(data);
    return { type: 'document', source, at: part.at, ...(title !== undefined && { title }) };
  }
  // A file uploaded to one supplier is unknown to every other.
  const value = { type: 'file', file: { file_id: file.requireText('file_id') } };
  return { type: 'opaque', dialect: 'chat', value, essential: true, at: part.at };
}

function assistantPart(part: FieldReader): AssistantBlock {
  if (part.raw('type') !== 'refusal') return textPart(part);
  return { type: 'refusal', text: part.requireText('refusal'), at: part.at };
}

function toolCall(call: FieldReader): ToolUseBlock {
  const id = call.requireText('id');
  const type = call.text('type') ?? 'function';
  call.skip('index');
  if (type === 'custom') {
    const custom = call.requireFields('custom');
    const [name, input] = [custom.requireText('name'), custom.requireText('input')];
    return { type: 'tool-use', id, name, arguments: input, custom: true, at: call.at };
  }
  if (type !== 'function')
    throw unsupported(call.path('type'), `Tool calls of type '${type}' are not supported.`);
  const definition = call.requireFields('function');
  const opaque = call.rest('chat');
  const block: ToolUseBlock = {
    type: 'tool-use',
    id,
    name: definition.requireText('name'),
    arguments: definition.requireText('arguments'),
    at: call.at,
  };
  return opaque.length > 0 ? { ...block, opaque } : block;
}

function assistantBlocks(message: FieldReader): AssistantBlock[] {
  const blocks: AssistantBlock[] = [];
  const reasoning = message.text('reasoning_content') ?? message.text('reasoning');
  message.skip('reasoning', 'annotations');
  if (reasoning) {
    blocks.push({
      type: 'reasoning',
      text: reasoning,
      origin: 'chat',
      at: message.path('reasoning_content'),
    });
  }
  if (message.raw('content') !== undefined) {
    blocks.push(...parts<AssistantBlock>(message, 'content', textBlock, assistantPart));
  }
  const refusal = message.text('refusal');
  if (refusal) blocks.push({ type: 'refusal', text: refusal, at: message.path('refusal') });
  blocks.push(...message.each('tool_calls', toolCall));
  return blocks;
}

function turnOf(message: FieldReader): CanonicalTurn {
  const { at } = message;
  const role = message.requireText('role');
  switch (role) {
    case 'system':
    case 'developer': {
      const blocks = parts(message, 'content', textBlock, textPart);
      return { role: 'system', blocks, at, ...(role === 'developer' && { developer: true }) };
    }
    case 'user':
      return { role: 'user', blocks: parts<ContentBlock>(message, 'content', textBlock, userPart), at };
    case 'assistant':
      return { role: 'assistant', blocks: assistantBlocks(message), at };
    case 'tool': {
      const toolUseId = message.requireText('tool_call_id');
      message.skip('name');
      const blocks = parts(message, 'content', textBlock, textPart);
      return { role: 'tool', results: [{ type: 'tool-result', toolUseId, blocks, at }], at };
    }
    case 'function':
      throw unsupported(message.path('role'), 'Use tool calls in place of function calls.');
    default:
      throw malformed(message.path('role'), "'system', 'developer', 'user', 'assistant' or 'tool'");
  }
}

const essentialFields = { function_call: {}, audio: {} };

export function decodeMessage(value: unknown, at: string): CanonicalTurn {
  const message = new FieldReader(value, at);
  const turn = turnOf(message);
  const essential = Object.entries(essentialFields).flatMap(
    ([name, details]) => message.opaque(name, ['chat'], details) ?? [],
  );
  const opaque = [...essential, ...message.rest('chat')];
  return opaque.length > 0 ? { ...turn, opaque } : turn;
}

/** Merges tool turns: each result of a round is a separate message in this dialect. */
export function mergeToolTurns(turns: readonly CanonicalTurn[]): CanonicalTurn[] {
  const merged: CanonicalTurn[] = [];
  for (const turn of turns) {
    const last = merged.at(-1);
    if (turn.role === 'tool' && last?.role === 'tool') {
      const opaque = [...(last.opaque ?? []), ...(turn.opaque ?? [])];
      const results = [...last.results, ...turn.results];
      merged[merged.length - 1] = { ...last, results, ...(opaque.length > 0 && { opaque }) };
    } else merged.push(turn);
  }
  return merged;
}
