import {
  type AssistantBlock,
  type ContentBlock,
  Fields,
  type ImageBlock,
  join,
  listAt,
  malformed,
  type Source,
  type TextBlock,
  type ToolUseBlock,
  type Turn,
  unsupported,
} from '../canonical';

const dataUrl = /^data:([^;,]+)(?:;[^;,]+)*;base64,/;

/** A data URL as its two parts; anything else is an address. */
export function sourceOf(url: string): Source {
  const found = dataUrl.exec(url.slice(0, 200));
  if (!found) return { kind: 'url', url };
  return { kind: 'data', mediaType: found[1]!, data: url.slice(found[0].length) };
}

export const urlOf = (source: Source): string =>
  source.kind === 'url' ? source.url : `data:${source.mediaType};base64,${source.data}`;

/** The parts of a content field; a plain string is one text. */
function parts<T>(
  fields: Fields,
  name: string,
  text: (text: string, at: string) => T,
  part: (part: Fields) => T,
): T[] {
  const content = fields.raw(name);
  const at = fields.path(name);
  if (typeof content === 'string') return content === '' ? [] : [text(content, at)];
  if (!Array.isArray(content)) throw malformed(at, 'a string or a list of parts');
  return listAt(content, at).map((value, index) => part(new Fields(value, join(at, index))));
}

const textBlock = (text: string, at: string): TextBlock => ({ type: 'text', text, at });

function textPart(part: Fields): TextBlock {
  const type = part.needText('type');
  if (type !== 'text') throw malformed(part.path('type'), "'text'");
  return withRest(textBlock(part.needText('text'), part.at), part);
}

function withRest<T extends ContentBlock | AssistantBlock>(block: T, part: Fields): T {
  const cacheControl = part.record('cache_control');
  const opaque = part.rest('chat');
  return { ...block, ...(cacheControl && { cacheControl }), ...(opaque.length > 0 && { opaque }) };
}

function userPart(part: Fields): ContentBlock {
  const type = part.needText('type');
  switch (type) {
    case 'text':
      return withRest(textBlock(part.needText('text'), part.at), part);
    case 'image_url':
      return withRest(imagePart(part), part);
    case 'input_audio': {
      const audio = part.needFields('input_audio');
      const [data, format] = [audio.needText('data'), audio.needText('format')];
      return withRest({ type: 'audio', data, format, at: part.at }, part);
    }
    case 'file':
      return withRest(filePart(part), part);
    default:
      throw unsupported(part.path('type'), `The content type '${type}' is not supported.`);
  }
}

function imagePart(part: Fields): ImageBlock {
  const image = part.needFields('image_url');
  const [url, detail] = [image.needText('url'), image.text('detail')];
  return { type: 'image', source: sourceOf(url), at: part.at, ...(detail !== undefined && { detail }) };
}

function filePart(part: Fields): ContentBlock {
  const file = part.needFields('file');
  const data = file.text('file_data');
  const title = file.text('filename');
  if (data !== undefined) {
    const source = sourceOf(data);
    return { type: 'document', source, at: part.at, ...(title !== undefined && { title }) };
  }
  // A file that was uploaded to one supplier is unknown to every other.
  const value = { type: 'file', file: { file_id: file.needText('file_id') } };
  return { type: 'opaque', dialect: 'chat', value, essential: true, at: part.at };
}

function assistantPart(part: Fields): AssistantBlock {
  if (part.raw('type') !== 'refusal') return textPart(part);
  return { type: 'refusal', text: part.needText('refusal'), at: part.at };
}

function toolCall(call: Fields): ToolUseBlock {
  const id = call.needText('id');
  const type = call.text('type') ?? 'function';
  call.skip('index');
  if (type === 'custom') {
    const custom = call.needFields('custom');
    const [name, input] = [custom.needText('name'), custom.needText('input')];
    return { type: 'tool-use', id, name, arguments: input, custom: true, at: call.at };
  }
  if (type !== 'function')
    throw unsupported(call.path('type'), `Tool calls of type '${type}' are not supported.`);
  const called = call.needFields('function');
  const opaque = call.rest('chat');
  const block: ToolUseBlock = {
    type: 'tool-use',
    id,
    name: called.needText('name'),
    arguments: called.needText('arguments'),
    at: call.at,
  };
  return opaque.length > 0 ? { ...block, opaque } : block;
}

function assistantBlocks(message: Fields): AssistantBlock[] {
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

function turnOf(message: Fields): Turn {
  const { at } = message;
  const role = message.needText('role');
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
      const toolUseId = message.needText('tool_call_id');
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

const needed = { function_call: {}, audio: {} };

export function decodeMessage(value: unknown, at: string): Turn {
  const message = new Fields(value, at);
  const turn = turnOf(message);
  const essential = Object.entries(needed).flatMap(
    ([name, why]) => message.opaque(name, ['chat'], why) ?? [],
  );
  const opaque = [...essential, ...message.rest('chat')];
  return opaque.length > 0 ? { ...turn, opaque } : turn;
}

/** The tools of one round are answered one message each. */
export function mergeToolTurns(turns: readonly Turn[]): Turn[] {
  const merged: Turn[] = [];
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
