import { type Fault, type Result } from '../../kernel';
import {
  attempt,
  type CanonicalRequest,
  FieldReader,
  malformed,
  type Opaque,
  type ReasoningRequest,
  type ResponseFormat,
  type SystemTurn,
  textAt,
  type Tool,
  type ToolChoice,
} from '../canonical';
import { decodeMessage, decodeSystem } from './decode-content';

/** Fields without which the response would be wrong, or would be given in another place. */
const ESSENTIAL: Readonly<Record<string, NonNullable<Opaque['essential']>>> = {
  thread: { details: { error_code: 'thread_unsupported_request', unsupported: ['thread'] } },
  container: {},
  inference_geo: {},
};

export function decodeMessagesRequest(body: unknown): Result<CanonicalRequest, Fault> {
  return attempt(() => {
    const fields = new FieldReader(body, '');
    const messages = fields.list('messages');
    if (!messages || messages.length === 0) throw malformed('messages', 'a list of at least one message');
    const { system, billing } = systemOf(fields);
    const choice = decodeChoice(fields);
    const config = fields.fields('output_config');
    const servers = fields.list('mcp_servers');
    const thinking = fields.fields('thinking');
    const user = fields.fields('metadata');
    const request: CanonicalRequest = {
      source: 'messages',
      model: fields.requireText('model'),
      system,
      turns: messages.flatMap((message, index) => decodeMessage(message, `messages.${index}`)),
      tools: fields.each('tools', decodeTool),
      toolChoice: choice.toolChoice,
      parallelTools: choice.parallelTools,
      maxOutputTokens: fields.count('max_tokens'),
      temperature: fields.number('temperature', 0, 1),
      topP: fields.number('top_p', 0, 1),
      topK: fields.count('top_k', 0),
      stop: fields.list('stop_sequences')?.map((value, index) => textAt(value, `stop_sequences.${index}`)),
      responseFormat: decodeFormat(config?.fields('format') ?? fields.fields('output_format')),
      reasoning: decodeThinking(thinking, config),
      stream: fields.flag('stream') ?? false,
      includeUsage: true,
      user: user?.text('user_id'),
      opaque: [],
    };
    fields.skip('output_format');
    const essential = [
      ...Object.entries(ESSENTIAL).map(([name, details]) => fields.opaque(name, ['messages'], details)),
      servers && servers.length > 0 ? fields.opaque('mcp_servers', ['messages'], {}) : undefined,
    ].filter((opaque) => opaque !== undefined);
    const inner = [config, thinking, user].flatMap((each) => each?.rest('messages') ?? []).map(withoutTarget);
    return { ...request, opaque: [...essential, ...billing, ...fields.rest('messages'), ...inner] };
  });
}

/** The line is described in https://github.com/waybarrios/vllm-mlx/pull/277, 2026-04-10. */
const BILLING_LINE = /^x-anthropic-billing-header:[^\n]*\n?/;

/**
 * Removes the billing line with which Claude Code starts its system text. The line differs per request, which would
 * defeat prompt caching at other suppliers.
 */
function systemOf(fields: FieldReader): { system: SystemTurn[]; billing: Opaque[] } {
  if (fields.raw('system') === undefined) return { system: [], billing: [] };
  const turn = decodeSystem(fields, 'system', 'system');
  const first = turn.blocks[0]?.text ?? '';
  const text = first.replace(BILLING_LINE, '');
  if (text === first) return { system: [turn], billing: [] };
  const blocks = [...(text === '' ? [] : [{ ...turn.blocks[0]!, text }]), ...turn.blocks.slice(1)];
  const line: Opaque = { dialects: [], field: 'system', at: 'x-anthropic-billing-header', value: first };
  return { system: blocks.length === 0 ? [] : [{ ...turn, blocks }], billing: [line] };
}

/** Unread fields of inner objects are counted, but cannot be sent at the top level of a body. */
const withoutTarget = (opaque: Opaque): Opaque => ({ ...opaque, dialects: [] });

function decodeThinking(
  thinking: FieldReader | undefined,
  config: FieldReader | undefined,
): ReasoningRequest | undefined {
  const effort = config?.text('effort');
  if (!thinking) return effort === undefined ? undefined : { effort };
  const type = thinking.requireText('type');
  const display = thinking.text('display');
  const common = { ...(effort !== undefined && { effort }), ...(display !== undefined && { display }) };
  switch (type) {
    case 'disabled':
      return { mode: 'off', ...common };
    case 'adaptive':
      return { mode: 'adaptive', ...common };
    case 'between_tools':
      return { mode: 'between-tools', ...common };
    case 'enabled': {
      const budgetTokens = thinking.count('budget_tokens');
      if (budgetTokens === undefined) throw malformed(thinking.path('budget_tokens'), 'a number of tokens');
      return { mode: 'budget', budgetTokens, ...common };
    }
    default:
      throw malformed(thinking.path('type'), "'enabled', 'adaptive', 'between_tools' or 'disabled'");
  }
}

function decodeFormat(format: FieldReader | undefined): ResponseFormat | undefined {
  if (!format) return undefined;
  if (format.raw('type') !== 'json_schema') throw malformed(format.path('type'), "'json_schema'");
  const schema = format.record('schema');
  if (!schema) throw malformed(format.path('schema'), 'a JSON schema');
  return { type: 'schema', schema };
}

function decodeTool(tool: FieldReader): Tool {
  const type = tool.text('type') ?? 'custom';
  const name = tool.requireText('name');
  if (type !== 'custom') return { kind: 'opaque', dialect: 'messages', name, value: tool.all(), at: tool.at };
  const schema = tool.record('input_schema');
  if (!schema) throw malformed(tool.path('input_schema'), 'a JSON schema');
  const description = tool.text('description');
  const strict = tool.flag('strict');
  const cacheControl = tool.record('cache_control');
  const opaque = tool.rest('messages');
  return {
    kind: 'function',
    name,
    description,
    schema,
    strict,
    cacheControl,
    at: tool.at,
    ...(opaque.length > 0 && { opaque }),
  };
}

function decodeChoice(fields: FieldReader): { toolChoice?: ToolChoice; parallelTools?: boolean } {
  const choice = fields.fields('tool_choice');
  if (!choice) return {};
  const type = choice.requireText('type');
  const disablesParallel = choice.flag('disable_parallel_tool_use');
  const parallel = disablesParallel === undefined ? {} : { parallelTools: !disablesParallel };
  switch (type) {
    case 'auto':
    case 'none':
      return { toolChoice: { mode: type }, ...parallel };
    case 'any':
      return { toolChoice: { mode: 'required' }, ...parallel };
    case 'tool':
      return { toolChoice: { mode: 'tool', tool: { name: choice.requireText('name') } }, ...parallel };
    default:
      throw malformed(choice.path('type'), "'auto', 'any', 'tool' or 'none'");
  }
}
