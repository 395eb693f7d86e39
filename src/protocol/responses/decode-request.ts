import { type Fault, type Result } from '../../kernel';
import {
  attempt,
  type CanonicalRequest,
  type DialectName,
  Fields,
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
  type Turn,
} from '../canonical';
import { ADDITIONAL_TOOLS, decodeItems } from './decode-items';

/** These fields mean the same in chat. */
const SPELLED_ALIKE: Readonly<Record<string, readonly DialectName[]>> = {
  prompt_cache_key: ['chat', 'responses'],
  prompt_cache_retention: ['chat', 'responses'],
  safety_identifier: ['chat', 'responses'],
  service_tier: ['chat', 'responses'],
};

/** These fields only work with what the supplier remembers. */
const STATE = ['previous_response_id', 'conversation', 'prompt'];

export function decodeResponsesRequest(body: unknown): Result<CanonicalRequest, Fault> {
  return attempt(() => {
    const fields = new Fields(body, '');
    const state = essentials(fields);
    const { system, turns } = splitSystem(decodeInput(fields, state.length > 0));
    const instructions = fields.text('instructions');
    const reasoning = fields.fields('reasoning');
    const text = fields.fields('text');
    const options = fields.fields('stream_options');
    const request: CanonicalRequest = {
      source: 'responses',
      model: fields.needText('model'),
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
    const inner = [reasoning, text, options].flatMap((each) => each?.rest('responses') ?? []).map(nested);
    return { ...request, opaque: [...state, ...fields.rest('responses', SPELLED_ALIKE), ...inner] };
  });
}

/** Leftovers of inner objects are counted, but have no place at the top of a body. */
const nested = (opaque: Opaque): Opaque => ({ ...opaque, dialects: [] });

const instructionsTurn = (text: string): SystemTurn => ({
  role: 'system',
  blocks: [{ type: 'text', text, at: 'instructions' }],
  at: 'instructions',
});

function essentials(fields: Fields): Opaque[] {
  // Answers are kept here, and by no supplier.
  fields.flag('store');
  const later = fields.flag('background') === true;
  return [
    ...STATE.map((name) => fields.opaque(name, ['responses'], {})),
    later ? fields.opaque('background', ['responses'], {}) : undefined,
  ].filter((opaque) => opaque !== undefined);
}

function decodeInput(fields: Fields, hasState: boolean): Turn[] {
  const input = fields.raw('input');
  if (input === undefined && hasState) return [];
  if (typeof input === 'string') {
    return [{ role: 'user', blocks: [{ type: 'text', text: input, at: 'input' }], at: 'input' }];
  }
  if (!Array.isArray(input)) throw malformed('input', 'a string or a list of items');
  return decodeItems(input);
}

function decodeReasoning(reasoning: Fields | undefined): ReasoningRequest | undefined {
  if (!reasoning) return undefined;
  const [effort, summary] = [reasoning.text('effort'), reasoning.text('summary')];
  if (effort === undefined && summary === undefined) return undefined;
  return {
    ...(effort === 'none' ? { mode: 'off' } : effort !== undefined && { effort }),
    ...(summary !== undefined && { summary }),
  };
}

function decodeFormat(format: Fields | undefined): ResponseFormat | undefined {
  if (!format) return undefined;
  const type = format.needText('type');
  if (type === 'text') return { type };
  if (type === 'json_object') return { type: 'json' };
  if (type !== 'json_schema') throw malformed(format.path('type'), "'text', 'json_object' or 'json_schema'");
  const schema = format.record('schema');
  if (!schema) throw malformed(format.path('schema'), 'a JSON schema');
  return {
    type: 'schema',
    schema,
    name: format.needText('name'),
    description: format.text('description'),
    strict: format.flag('strict'),
  };
}

/** Other dialects cannot add tools within a conversation, so tools of items are offered from its beginning. */
function addedTools(fields: Fields): Tool[] {
  const input = fields.raw('input');
  if (!Array.isArray(input)) return [];
  const items = input.map((item: unknown, index) => new Fields(item, `input.${index}`));
  return items.filter((item) => item.text('type') === ADDITIONAL_TOOLS).flatMap(decodeTools);
}

const decodeTools = (fields: Fields): Tool[] => fields.each('tools', (tool) => decodeTool(tool)).flat();

function decodeTool(tool: Fields, namespace?: Namespace): Tool[] {
  const type = tool.needText('type');
  if (type === 'namespace') {
    const inside: Namespace = { name: tool.needText('name'), description: tool.text('description') };
    return tool.each('tools', (inner) => decodeTool(inner, inside)).flat();
  }
  if (type !== 'function' && type !== 'custom') {
    return [{ kind: 'opaque', dialect: 'responses', value: tool.all(), at: tool.at }];
  }
  const named = {
    name: tool.needText('name'),
    description: tool.text('description'),
    at: tool.at,
    ...(namespace && { namespace }),
  };
  if (type === 'custom') return [{ kind: 'custom', ...named, format: tool.record('format') }];
  const [schema, strict] = [tool.record('parameters'), tool.flag('strict')];
  const opaque = tool.rest('responses');
  return [{ kind: 'function', ...named, schema, strict, ...(opaque.length > 0 && { opaque }) }];
}

function decodeChoice(fields: Fields): ToolChoice | undefined {
  const value = fields.raw('tool_choice');
  if (value === undefined) return undefined;
  if (value === 'auto' || value === 'none' || value === 'required') return { mode: value };
  if (typeof value === 'string') throw malformed('tool_choice', "'auto', 'none', 'required' or a tool");
  const choice = fields.needFields('tool_choice');
  if (choice.raw('type') !== 'allowed_tools') return { mode: 'tool', tool: decodeReference(choice) };
  return {
    mode: 'allowed',
    required: choice.text('mode') === 'required',
    tools: choice.each('tools', decodeReference),
  };
}

/** Tools the supplier runs itself are named by their type alone. */
function decodeReference(reference: Fields): ToolReference {
  const type = reference.needText('type');
  const namespace = reference.text('namespace');
  const name = type === 'function' || type === 'custom' ? reference.needText('name') : type;
  return { name, ...(namespace !== undefined && { namespace }), ...(type === 'custom' && { custom: true }) };
}
