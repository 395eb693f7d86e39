import {
  type AssistantBlock,
  type AssistantTurn,
  type ContentBlock,
  FieldReader,
  itemOfCall,
  itemOfOutput,
  join,
  joinText,
  listAt,
  malformed,
  unsealReasoning,
  type Opaque,
  type OpaqueBlock,
  type TextBlock,
  type ToolResultBlock,
  type CanonicalTurn,
  unsupported,
} from '../canonical';
import { sourceOf } from '../chat/decode-content';

/** Past work of the supplier's own tools; the conversation stays coherent without it. */
const PAST_TOOL_WORK = new Set([
  'web_search_call',
  'file_search_call',
  'code_interpreter_call',
  'image_generation_call',
  'computer_call',
  'computer_call_output',
  'mcp_list_tools',
  'mcp_call',
  'tool_search_call',
  'tool_search_output',
]);

function parts<T>(fields: FieldReader, name: string, read: (part: FieldReader) => T): (T | TextBlock)[] {
  const content = fields.raw(name);
  const at = fields.path(name);
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content, at }];
  if (!Array.isArray(content)) throw malformed(at, 'a string or a list of parts');
  return listAt(content, at).map((value, index) => read(new FieldReader(value, join(at, index))));
}

const withRest = <T extends ContentBlock | AssistantBlock>(block: T, part: FieldReader): T => {
  const opaque = part.rest('responses');
  return opaque.length > 0 ? { ...block, opaque } : block;
};

const textBlock = (part: FieldReader): TextBlock =>
  withRest({ type: 'text', text: part.requireText('text'), at: part.at }, part);

function contentPart(part: FieldReader): ContentBlock {
  const type = part.requireText('type');
  switch (type) {
    case 'input_text':
    case 'output_text':
    case 'text':
      part.skip('annotations', 'logprobs');
      return textBlock(part);
    case 'input_image': {
      const [url, detail] = [part.text('image_url'), part.text('detail')];
      if (url === undefined) return uploadedFile(part);
      const source = sourceOf(url);
      return withRest({ type: 'image', source, at: part.at, ...(detail !== undefined && { detail }) }, part);
    }
    case 'input_file':
      return filePart(part);
    case 'input_audio': {
      const audio = part.requireFields('input_audio');
      const [data, format] = [audio.requireText('data'), audio.requireText('format')];
      return withRest({ type: 'audio', data, format, at: part.at }, part);
    }
    default:
      throw unsupported(part.path('type'), `The content type '${type}' is not supported.`);
  }
}

/** A file uploaded to one supplier is unknown to every other. */
function uploadedFile(part: FieldReader): OpaqueBlock {
  part.requireText('file_id');
  return { type: 'opaque', dialect: 'responses', value: part.all(), essential: true, at: part.at };
}

function filePart(part: FieldReader): ContentBlock {
  const [data, url, title] = [part.text('file_data'), part.text('file_url'), part.text('filename')];
  if (data === undefined && url === undefined) return uploadedFile(part);
  const source = data === undefined ? ({ kind: 'url', url: url! } as const) : sourceOf(data);
  return withRest({ type: 'document', source, at: part.at, ...(title !== undefined && { title }) }, part);
}

function systemPart(part: FieldReader): TextBlock {
  const block = contentPart(part);
  if (block.type !== 'text') throw malformed(part.path('type'), "'input_text'");
  return block;
}

function assistantPart(part: FieldReader): AssistantBlock {
  if (part.raw('type') === 'refusal')
    return { type: 'refusal', text: part.requireText('refusal'), at: part.at };
  const block = contentPart(part);
  if (block.type !== 'text') throw malformed(part.path('type'), "'output_text' or 'refusal'");
  return block;
}

function message(item: FieldReader): CanonicalTurn {
  const { at } = item;
  const role = item.requireText('role');
  item.skip('type', 'id', 'status');
  switch (role) {
    case 'system':
    case 'developer': {
      const blocks = parts(item, 'content', systemPart);
      return { role: 'system', blocks, at, ...(role === 'developer' && { developer: true }) };
    }
    case 'user':
      return { role, blocks: parts(item, 'content', contentPart), at };
    case 'assistant':
      return withPhase({ role, blocks: parts(item, 'content', assistantPart), at }, item);
    default:
      throw malformed(item.path('role'), "'user', 'assistant', 'system' or 'developer'");
  }
}

/** A phase marks a text as intermediate or final; other dialects cannot express it. */
function withPhase(turn: AssistantTurn, item: FieldReader): AssistantTurn {
  const phase = item.opaque('phase', ['responses']);
  return phase === undefined ? turn : { ...turn, opaque: [phase] };
}

const assistant = (block: AssistantBlock): AssistantTurn => ({
  role: 'assistant',
  blocks: [block],
  at: block.at,
});

function reasoning(item: FieldReader): AssistantTurn {
  const { at } = item;
  item.skip('id', 'status');
  const texts = [...item.each('content', reasoningText), ...item.each('summary', reasoningText)];
  const text = joinText(texts, '\n\n');
  const encrypted = item.text('encrypted_content');
  const signed =
    encrypted === undefined
      ? ({ origin: 'responses' } as const)
      : unsealReasoning(encrypted, text, 'responses');
  return assistant({ type: 'reasoning', text, ...signed, at });
}

const reasoningText = (part: FieldReader): { text: string } => ({ text: part.requireText('text') });

function call(item: FieldReader, custom: boolean): AssistantTurn {
  const [id, name] = [item.requireText('call_id'), item.requireText('name')];
  const text = item.requireText(custom ? 'input' : 'arguments');
  const namespace = item.text('namespace');
  return assistant({
    type: 'tool-use',
    id,
    name,
    arguments: text,
    at: item.at,
    ...(namespace !== undefined && { namespace }),
    ...(custom && { custom }),
  });
}

function output(item: FieldReader, custom: boolean): CanonicalTurn {
  const toolUseId = item.requireText('call_id');
  const blocks = parts<ContentBlock>(item, 'output', contentPart);
  const result: ToolResultBlock = { type: 'tool-result', toolUseId, blocks, at: item.at };
  return { role: 'tool', results: [custom ? { ...result, custom } : result], at: item.at };
}

/** A call of a client-run tool, which other dialects know as a function. */
function clientCall(
  item: FieldReader,
  { name, holds }: NonNullable<ReturnType<typeof itemOfCall>>,
): AssistantTurn {
  const [id, { type: kind, ...members }] = [item.requireText('call_id'), item.record(holds) ?? {}];
  const text = JSON.stringify(holds === 'operation' ? { type: kind, ...members } : members);
  return assistant({ type: 'tool-use', id, name, arguments: text, item: item.all(), at: item.at });
}

function clientOutput(item: FieldReader): CanonicalTurn {
  const [output, status] = [item.raw('output'), item.text('status')];
  const text =
    typeof output === 'string' ? output : output === undefined ? (status ?? '') : JSON.stringify(output);
  const result: ToolResultBlock = {
    type: 'tool-result',
    toolUseId: item.text('call_id') ?? item.requireText('id'),
    blocks: [{ type: 'text', text, at: item.at }],
    item: item.all(),
    at: item.at,
    ...(status === 'failed' && { isError: true }),
  };
  return { role: 'tool', results: [result], at: item.at };
}

function turnOf(item: FieldReader): CanonicalTurn {
  const type = item.text('type') ?? 'message';
  switch (type) {
    case 'message':
      return message(item);
    case 'function_call':
    case 'custom_tool_call':
      return call(item, type === 'custom_tool_call');
    case 'function_call_output':
    case 'custom_tool_call_output':
      return output(item, type === 'custom_tool_call_output');
    case 'reasoning':
      return reasoning(item);
    default: {
      const client = itemOfCall(type);
      if (client !== undefined) return clientCall(item, client);
      if (itemOfOutput(type) !== undefined) return clientOutput(item);
      const essential = !PAST_TOOL_WORK.has(type);
      return assistant({ type: 'opaque', dialect: 'responses', value: item.all(), essential, at: item.at });
    }
  }
}

const withOpaque = <T extends CanonicalTurn>(turn: T, more: readonly Opaque[] = []): T =>
  more.length === 0 ? turn : { ...turn, opaque: [...(turn.opaque ?? []), ...more] };

/** Counts fields that no other dialect can express. */
function withLeftovers(turn: CanonicalTurn, item: FieldReader): CanonicalTurn {
  item.skip('type', 'id', 'status');
  return withOpaque(
    turn,
    item.rest('responses').map((opaque) => ({ ...opaque, dialects: [] })),
  );
}

/** Type of an input item that only offers further tools. */
export const ADDITIONAL_TOOLS = 'additional_tools';

/**
 * Merges consecutive items of one role into a turn: reasoning, text and calls of a response are separate items in this
 * dialect.
 */
export function decodeItems(items: readonly unknown[]): CanonicalTurn[] {
  const turns: CanonicalTurn[] = [];
  for (const [index, item] of items.entries()) {
    const fields = new FieldReader(item, `input.${index}`);
    if (fields.text('type') === ADDITIONAL_TOOLS) continue;
    const turn = withLeftovers(turnOf(fields), fields);
    const last = turns.at(-1);
    if (turn.role === 'assistant' && last?.role === 'assistant') {
      turns[turns.length - 1] = withOpaque(
        { ...last, blocks: [...last.blocks, ...turn.blocks] },
        turn.opaque,
      );
    } else if (turn.role === 'tool' && last?.role === 'tool') {
      turns[turns.length - 1] = withOpaque(
        { ...last, results: [...last.results, ...turn.results] },
        turn.opaque,
      );
    } else turns.push(turn);
  }
  return turns;
}
