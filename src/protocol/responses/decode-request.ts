import { type Fault, type Result } from '../../kernel';
import {
  attempt,
  type CanonicalRequest,
  type DialectName,
  FieldReader,
  malformed,
  type Namespace,
  type Opaque,
  type ReasoningRequest,
  type ResponseFormat,
  splitSystem,
  type SystemTurn,
  type Tool,
  type ToolChoice,
  type ToolReference,
  type CanonicalTurn,
} from '../canonical';
import { ADDITIONAL_TOOLS, decodeItems } from './decode-items';

const SHARED_FIELDS: Readonly<Record<string, readonly DialectName[]>> = {
  prompt_cache_key: ['chat', 'responses'],
  prompt_cache_retention: ['chat', 'responses'],
  safety_identifier: ['chat', 'responses'],
  service_tier: ['chat', 'responses'],
};

/** Fields that depend on state stored by the supplier. */
const STATEFUL_FIELDS = ['previous_response_id', 'conversation', 'prompt'];

export function decodeResponsesRequest(body: unknown): Result<CanonicalRequest, Fault> {
  return attempt(() => {
    const fields = new FieldReader(body, '');
    const state = essentials(fields);
    const { system, turns } = splitSystem(decodeInput(fields, state.length > 0));
    const instructions = fields.text('instructions');
    const reasoning = fields.fields('reasoning');
    const text = fields.fields('text');
    const options = fields.fields('stream_options');
    const request: CanonicalRequest = {
      source: 'responses',
      model: fields.requireText('model'),
      system: instructions ? [instructionsTurn(instructions), ...system] : system,
      turns,
      tools: [...decodeTools(fields), ...addedTools(fields)],
      toolChoice: decodeChoice(fields),
      parallelTools: fields.flag('parallel_tool_calls'),
      maxOutputTokens: fields.count('max_output_tokens'),
      temperature: fields.number('temperature', 0, 2),
      topP: fields.number('top_p', 0, 1),
      responseFormat: decodeFormat(text?.fields('format')),
      reasoning: decodeReasoning(reasoning),
      verbosity: text?.text('verbosity'),
      stream: fields.flag('stream') ?? false,
      includeUsage: true,
      user: fields.text('user'),
      metadata: fields.record('metadata'),
      opaque: [],
    };
    const inner = [reasoning, text, options]
      .flatMap((each) => each?.rest('responses') ?? [])
      .map(withoutTarget);
    return { ...request, opaque: [...state, ...fields.rest('responses', SHARED_FIELDS), ...inner] };
  });
}

/** Unread fields of inner objects are counted, but cannot be sent at the top level of a body. */
const withoutTarget = (opaque: Opaque): Opaque => ({ ...opaque, dialects: [] });

const instructionsTurn = (text: string): SystemTurn => ({
  role: 'system',
  blocks: [{ type: 'text', text, at: 'instructions' }],
  at: 'instructions',
});

function essentials(fields: FieldReader): Opaque[] {
  // Responses are stored by the gateway, never by the supplier.
  fields.flag('store');
  const isBackground = fields.flag('background') === true;
  return [
    ...STATEFUL_FIELDS.map((name) => fields.opaque(name, ['responses'], {})),
    isBackground ? fields.opaque('background', ['responses'], {}) : undefined,
  ].filter((opaque) => opaque !== undefined);
}

function decodeInput(fields: FieldReader, hasState: boolean): CanonicalTurn[] {
  const input = fields.raw('input');
  if (input === undefined && hasState) return [];
  if (typeof input === 'string') {
    return [{ role: 'user', blocks: [{ type: 'text', text: input, at: 'input' }], at: 'input' }];
  }
  if (!Array.isArray(input)) throw malformed('input', 'a string or a list of items');
  return decodeItems(input);
}

function decodeReasoning(reasoning: FieldReader | undefined): ReasoningRequest | undefined {
  if (!reasoning) return undefined;
  const [effort, summary] = [reasoning.text('effort'), reasoning.text('summary')];
  if (effort === undefined && summary === undefined) return undefined;
  return {
    ...(effort === 'none' ? { mode: 'off' } : effort !== undefined && { effort }),
    ...(summary !== undefined && { summary }),
  };
}

function decodeFormat(format: FieldReader | undefined): ResponseFormat | undefined {
  if (!format) return undefined;
  const type = format.requireText('type');
  if (type === 'text') return { type };
  if (type === 'json_object') return { type: 'json' };
  if (type !== 'json_schema') throw malformed(format.path('type'), "'text', 'json_object' or 'json_schema'");
  const schema = format.record('schema');
  if (!schema) throw malformed(format.path('schema'), 'a JSON schema');
  return {
    type: 'schema',
    schema,
    name: format.requireText('name'),
    description: format.text('description'),
    strict: format.flag('strict'),
  };
}

/** Other dialects cannot add tools within a conversation, so tools of input items are offered from its start. */
function addedTools(fields: FieldReader): Tool[] {
  const input = fields.raw('input');
  if (!Array.isArray(input)) return [];
  const items = input.map((item: unknown, index) => new FieldReader(item, `input.${index}`));
  return items.filter((item) => item.text('type') === ADDITIONAL_TOOLS).flatMap(decodeTools);
}

const decodeTools = (fields: FieldReader): Tool[] => fields.each('tools', (tool) => decodeTool(tool)).flat();

function decodeTool(tool: FieldReader, namespace?: Namespace): Tool[] {
  const type = tool.requireText('type');
  if (type === 'namespace') {
    const ownNamespace: Namespace = { name: tool.requireText('name'), description: tool.text('description') };
    return tool.each('tools', (inner) => decodeTool(inner, ownNamespace)).flat();
  }
  if (type !== 'function' && type !== 'custom') {
    return [{ kind: 'opaque', dialect: 'responses', value: tool.all(), at: tool.at }];
  }
  const named = {
    name: tool.requireText('name'),
    description: tool.text('description'),
    at: tool.at,
    ...(namespace && { namespace }),
  };
  if (type === 'custom') return [{ kind: 'custom', ...named, format: tool.record('format') }];
  const [schema, strict] = [tool.record('parameters'), tool.flag('strict')];
  const opaque = tool.rest('responses');
  return [{ kind: 'function', ...named, schema, strict, ...(opaque.length > 0 && { opaque }) }];
}

function decodeChoice(fields: FieldReader): ToolChoice | undefined {
  const value = fields.raw('tool_choice');
  if (value === undefined) return undefined;
  if (value === 'auto' || value === 'none' || value === 'required') return { mode: value };
  if (typeof value === 'string') throw malformed('tool_choice', "'auto', 'none', 'required' or a tool");
  const choice = fields.requireFields('tool_choice');
  if (choice.raw('type') !== 'allowed_tools') return { mode: 'tool', tool: decodeReference(choice) };
  return {
    mode: 'allowed',
    required: choice.text('mode') === 'required',
    tools: choice.each('tools', decodeReference),
  };
}

/** Tools that the supplier runs are named by their type alone. */
function decodeReference(reference: FieldReader): ToolReference {
  const type = reference.requireText('type');
  const namespace = reference.text('namespace');
  const name = type === 'function' || type === 'custom' ? reference.requireText('name') : type;
  return { name, ...(namespace !== undefined && { namespace }), ...(type === 'custom' && { custom: true }) };
}
