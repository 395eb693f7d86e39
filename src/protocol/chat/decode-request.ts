import { type Fault, type Result } from '../../kernel';
import {
  attempt,
  type CanonicalRequest,
  type DialectName,
  FieldReader,
  join,
  malformed,
  type Opaque,
  type ResponseFormat,
  splitSystem,
  textAt,
  type Tool,
  type ToolChoice,
  type ToolReference,
} from '../canonical';
import { decodeMessage, mergeToolTurns } from './decode-content';

/** Fields with the same meaning in responses. */
const SHARED_FIELDS: Readonly<Record<string, readonly DialectName[]>> = {
  prompt_cache_key: ['chat', 'responses'],
  prompt_cache_retention: ['chat', 'responses'],
  safety_identifier: ['chat', 'responses'],
  service_tier: ['chat', 'responses'],
};

export function decodeChatRequest(body: unknown): Result<CanonicalRequest, Fault> {
  return attempt(() => {
    const fields = new FieldReader(body, '');
    const messages = fields.list('messages');
    if (!messages || messages.length === 0) throw malformed('messages', 'a list of at least one message');
    const turns = messages.map((message, index) => decodeMessage(message, `messages.${index}`));
    const options = fields.fields('stream_options');
    const effort = fields.text('reasoning_effort');
    const functions = fields.opaque('functions', ['chat'], {});
    const request: CanonicalRequest = {
      source: 'chat',
      model: fields.requireText('model'),
      ...splitSystem(mergeToolTurns(turns)),
      tools: fields.each('tools', decodeTool),
      toolChoice: decodeChoice(fields),
      parallelTools: fields.flag('parallel_tool_calls'),
      maxOutputTokens: fields.count('max_completion_tokens') ?? fields.count('max_tokens'),
      temperature: fields.number('temperature', 0, 2),
      topP: fields.number('top_p', 0, 1),
      topK: fields.count('top_k', 0),
      stop: stopsOf(fields),
      seed: fields.count('seed', Number.MIN_SAFE_INTEGER),
      responseFormat: decodeFormat(fields),
      reasoning: effort === undefined ? undefined : effortOf(effort),
      verbosity: fields.text('verbosity'),
      stream: fields.flag('stream') ?? false,
      includeUsage: options?.flag('include_usage') ?? false,
      user: fields.text('user'),
      metadata: fields.record('metadata'),
      opaque: [],
    };
    fields.skip('max_tokens');
    const opaque = [
      ...(functions ? [functions] : []),
      ...essentials(fields),
      ...fields.rest('chat', SHARED_FIELDS),
    ];
    return { ...request, opaque: options ? [...opaque, ...options.rest('chat').map(withoutTarget)] : opaque };
  });
}

/** An unread field of `stream_options` is counted, but cannot be sent at the top level of a body. */
const withoutTarget = (opaque: Opaque): Opaque => ({ ...opaque, dialects: [] });

const effortOf = (effort: string): CanonicalRequest['reasoning'] =>
  effort === 'none' ? { mode: 'off' } : { effort };

/** Fields that change the response so much that it would be wrong without them. */
function essentials(fields: FieldReader): Opaque[] {
  const choices = fields.count('n');
  const modalities = fields.list('modalities');
  const wantsAudio = modalities?.some((modality) => modality !== 'text');
  return [
    choices !== undefined && choices > 1 ? fields.opaque('n', ['chat'], {}) : undefined,
    wantsAudio ? fields.opaque('modalities', ['chat'], {}) : undefined,
    fields.opaque('function_call', ['chat'], {}),
  ].filter((opaque) => opaque !== undefined);
}

function stopsOf(fields: FieldReader): readonly string[] | undefined {
  const stop = fields.raw('stop');
  if (stop === undefined) return undefined;
  if (typeof stop === 'string') return [stop];
  return fields.list('stop')!.map((value, index) => textAt(value, join('stop', index)));
}

function decodeFormat(fields: FieldReader): ResponseFormat | undefined {
  const format = fields.fields('response_format');
  if (!format) return undefined;
  const type = format.requireText('type');
  if (type === 'text') return { type };
  if (type === 'json_object') return { type: 'json' };
  if (type !== 'json_schema') throw malformed(format.path('type'), "'text', 'json_object' or 'json_schema'");
  const declared = format.requireFields('json_schema');
  return {
    type: 'schema',
    schema: declared.record('schema') ?? {},
    name: declared.requireText('name'),
    description: declared.text('description'),
    strict: declared.flag('strict'),
  };
}

function decodeTool(tool: FieldReader): Tool {
  const type = tool.requireText('type');
  if (type !== 'function' && type !== 'custom') {
    return { kind: 'opaque', dialect: 'chat', value: tool.all(), at: tool.at };
  }
  const declared = tool.requireFields(type);
  const named = {
    name: declared.requireText('name'),
    description: declared.text('description'),
    at: tool.at,
  };
  const cacheControl = tool.record('cache_control');
  if (type === 'custom') return { kind: 'custom', ...named, format: declared.record('format'), cacheControl };
  const schema = declared.record('parameters');
  const strict = declared.flag('strict');
  const opaque = [...tool.rest('chat'), ...declared.rest('chat').map(withoutTarget)];
  return { kind: 'function', ...named, schema, strict, cacheControl, ...(opaque.length > 0 && { opaque }) };
}

function decodeChoice(fields: FieldReader): ToolChoice | undefined {
  const value = fields.raw('tool_choice');
  if (value === undefined) return undefined;
  if (value === 'auto' || value === 'none' || value === 'required') return { mode: value };
  if (typeof value === 'string') throw malformed('tool_choice', "'auto', 'none', 'required' or a tool");
  const choice = fields.requireFields('tool_choice');
  if (choice.raw('type') !== 'allowed_tools') return { mode: 'tool', tool: decodeReference(choice) };
  const allowed = choice.fields('allowed_tools') ?? choice;
  return {
    mode: 'allowed',
    required: allowed.text('mode') === 'required',
    tools: allowed.each('tools', decodeReference),
  };
}

function decodeReference(reference: FieldReader): ToolReference {
  const type = reference.requireText('type');
  if (type !== 'function' && type !== 'custom')
    throw malformed(reference.path('type'), "'function' or 'custom'");
  const name = reference.requireFields(type).requireText('name');
  return type === 'custom' ? { name, custom: true } : { name };
}
