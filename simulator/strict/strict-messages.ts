import type { Complaint } from '../complaint';
import { isObject, listOf, objectOf, textOf, type JsonObject } from '../json';
import { modelExists, type Settings } from '../settings';
import { checkBlock, checkCacheControls, type ThinkingSigner } from './strict-blocks';
import { fieldSet, firstOf, unknownField, type Check } from './strict';

const fields = fieldSet(
  'model messages max_tokens system metadata stop_sequences stream temperature top_k top_p tools tool_choice ' +
    'thinking service_tier container context_management mcp_servers output_config output_format inference_geo ' +
    'cache_control speed safeguards',
);
const toolFields = fieldSet(
  'name description input_schema cache_control type defer_loading strict eager_input_streaming input_examples ' +
    'allowed_callers',
);
const toolName = /^[a-zA-Z0-9_-]{1,128}$/;
const MAX_OUTPUT_TOKENS = 128_000;

function complain(message: string): Complaint {
  return { message };
}

export function checkMessagesBody(body: JsonObject, settings: Settings, sign: ThinkingSigner): Check {
  if ('thread' in body) {
    return {
      message: 'thread: conversation threads are not supported',
      details: { error_code: 'thread_unsupported_request', unsupported: ['thread'] },
    };
  }
  const limit = body['max_tokens'];
  if (limit === undefined) return complain('max_tokens: Field required');
  if (typeof limit !== 'number' || !Number.isInteger(limit))
    return complain('max_tokens: Input should be a valid integer');
  if (limit < 1) return complain('max_tokens: must be greater than or equal to 1');
  if (limit > MAX_OUTPUT_TOKENS) {
    return complain(
      `max_tokens: ${limit} > ${MAX_OUTPUT_TOKENS}, which is the maximum allowed number of output tokens`,
    );
  }
  const isBound = settings.account !== '';
  return (
    checkCount(body, settings, sign) ??
    checkSampling(body) ??
    (sign === undefined ? undefined : checkThinking(body)) ??
    (isBound && sign !== undefined ? checkRound(body) : undefined)
  );
}

/** Checks the fields of a count_tokens request, then the shared ones. */
export function checkCount(body: JsonObject, settings: Settings, sign: ThinkingSigner): Check {
  const unknown = unknownField(body, fields);
  if (unknown !== undefined) return complain(`${unknown}: Extra inputs are not permitted`);
  const model = body['model'];
  if (typeof model !== 'string') return complain('model: Field required');
  if (!modelExists(model, settings)) return { status: 404, message: `model: ${model}` };
  const messages = body['messages'];
  if (!Array.isArray(messages)) return complain('messages: Field required');
  if (messages.length === 0) return complain('messages: at least one message is required');
  return (
    checkSystem(body['system']) ??
    checkTools(body) ??
    firstOf(messages.map(objectOf), (message, index) =>
      checkMessage(message, index, messages.length, sign),
    ) ??
    checkOrder(messages.map(objectOf), settings) ??
    checkCacheControls(body)
  );
}

function checkSampling(body: JsonObject): Check {
  const { temperature, top_p: topP, top_k: topK, stream, stop_sequences: stops } = body;
  if (temperature !== undefined && !isWithin(temperature, 0, 1)) return complain('temperature: range: 0..1');
  if (topP !== undefined && !isWithin(topP, 0, 1)) return complain('top_p: range: 0..1');
  if (topK !== undefined && !Number.isInteger(topK))
    return complain('top_k: Input should be a valid integer');
  if (stream !== undefined && typeof stream !== 'boolean')
    return complain('stream: Input should be a valid boolean');
  if (stops !== undefined && !Array.isArray(stops))
    return complain('stop_sequences: Input should be a valid list');
  return listOf(stops).some((stop) => textOf(stop).trim() === '')
    ? complain('stop_sequences: each stop sequence must contain non-whitespace')
    : undefined;
}

function isWithin(value: unknown, min: number, max: number): boolean {
  return typeof value === 'number' && value >= min && value <= max;
}

function checkThinking(body: JsonObject): Check {
  const thinking = objectOf(body['thinking']);
  switch (thinking['type']) {
    case undefined:
      return 'thinking' in body ? complain('thinking.type: Field required') : undefined;
    case 'disabled':
    case 'adaptive':
      return undefined;
    case 'enabled':
      break;
    default:
      return complain(`thinking: Input tag '${String(thinking['type'])}' found using 'type' does not match`);
  }
  const budget = Number(thinking['budget_tokens']);
  if (!(budget >= 1024))
    return complain('thinking.enabled.budget_tokens: Input should be greater than or equal to 1024');
  if (budget >= Number(body['max_tokens'])) {
    return complain('`max_tokens` must be greater than `thinking.budget_tokens`');
  }
  return body['temperature'] === undefined || body['temperature'] === 1
    ? undefined
    : complain('`temperature` may only be set to 1 when thinking is enabled');
}

/** With a thinking budget, the turn whose calls are being answered must start with thinking. */
function checkRound(body: JsonObject): Check {
  const messages = listOf(body['messages']).map(objectOf);
  const last = messages.findLastIndex((message) => message['role'] === 'assistant');
  const [first] = listOf(objectOf(messages[last])['content']).map(objectOf);
  const isAnswered = idsOf(objectOf(messages[last + 1]), 'tool_result', 'tool_use_id').length > 0;
  if (objectOf(body['thinking'])['type'] !== 'enabled' || !isAnswered) return undefined;
  return /thinking$/.test(textOf(first?.['type']))
    ? undefined
    : complain(
        `messages.${last}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${textOf(first?.['type'])}\``,
      );
}

function checkSystem(system: unknown): Check {
  if (system === undefined || typeof system === 'string') return undefined;
  if (!Array.isArray(system)) return complain('system: Input should be a valid list');
  return firstOf(system.map(objectOf), (block, index) => {
    if (block['type'] !== 'text') return complain(`system.${index}.type: Input should be 'text'`);
    return textOf(block['text']) === ''
      ? complain('system: text content blocks must be non-empty')
      : undefined;
  });
}

function checkTools(body: JsonObject): Check {
  const tools = body['tools'];
  if (tools !== undefined && !Array.isArray(tools)) return complain('tools: Input should be a valid list');
  const declared = listOf(tools).map(objectOf);
  const names = declared.map((tool) => textOf(tool['name']));
  const hasDuplicates = new Set(names).size < names.length;
  return (
    firstOf(declared, checkTool) ??
    (hasDuplicates ? complain('tools: Tool names must be unique.') : undefined) ??
    checkChoice(body['tool_choice'], names)
  );
}

function checkTool(tool: JsonObject, index: number): Check {
  const path = `tools.${index}`;
  if (!toolName.test(textOf(tool['name']))) {
    return complain(`${path}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`);
  }
  // Tools that the supplier runs itself (web search, code execution) have a dated type and no schema.
  if (tool['type'] !== undefined && tool['type'] !== 'custom') return undefined;
  const unknown = unknownField(tool, toolFields);
  if (unknown !== undefined) return complain(`${path}.custom.${unknown}: Extra inputs are not permitted`);
  const schema = tool['input_schema'];
  if (!isObject(schema)) return complain(`${path}.custom.input_schema: Field required`);
  return schema['type'] === 'object'
    ? undefined
    : complain(`${path}.custom.input_schema.type: Input should be 'object'`);
}

function checkChoice(value: unknown, names: readonly string[]): Check {
  if (value === undefined) return undefined;
  const choice = objectOf(value);
  const type = textOf(choice['type']);
  if (!['auto', 'any', 'tool', 'none'].includes(type)) {
    return complain(
      `tool_choice: Input tag '${type}' found using 'type' does not match any of the expected tags`,
    );
  }
  if (names.length === 0) return complain('tool_choice: may only be specified while providing tools');
  return type === 'tool' && !names.includes(textOf(choice['name']))
    ? complain(`tool_choice: Tool '${textOf(choice['name'])}' not found in provided tools`)
    : undefined;
}

function checkMessage(message: JsonObject, index: number, count: number, sign: ThinkingSigner): Check {
  const path = `messages.${index}`;
  const unknown = unknownField(message, fieldSet('role content cache_control'));
  if (unknown !== undefined) return complain(`${path}.${unknown}: Extra inputs are not permitted`);
  const { role, content } = message;
  if (role !== 'user' && role !== 'assistant' && role !== 'system') {
    return complain(`${path}.role: Input should be 'user' or 'assistant'`);
  }
  if (typeof content !== 'string' && !Array.isArray(content))
    return complain(`${path}.content: Field required`);
  const isFinalAssistant = role === 'assistant' && index === count - 1;
  if (content.length === 0 && !isFinalAssistant) {
    return complain(
      `${path}: all messages must have non-empty content except for the optional final assistant message`,
    );
  }
  if (isFinalAssistant && /\s$/.test(finalText(content))) {
    return complain('messages: final assistant content cannot end with trailing whitespace');
  }
  return firstOf(listOf(content).map(objectOf), (block, at) =>
    checkBlock(block, `${path}.content.${at}`, role, sign),
  );
}

function finalText(content: unknown): string {
  return typeof content === 'string' ? content : textOf(objectOf(listOf(content).at(-1))['text']);
}

/**
 * Requires a user turn first, then alternating roles, with every tool_use answered at the start of the next user
 * message.
 */
function checkOrder(messages: readonly JsonObject[], { strictRoles }: Settings): Check {
  if (messages[0]?.['role'] !== 'user') return complain('messages: first message must use the "user" role');
  const usedIds = new Set<string>();
  return firstOf(messages, (message, index) => {
    const previous = messages[index - 1];
    if (strictRoles && previous?.['role'] === message['role']) {
      return complain(
        `messages: roles must alternate between "user" and "assistant", but found multiple "${String(message['role'])}" roles in a row`,
      );
    }
    for (const id of idsOf(message, 'tool_use', 'id')) {
      if (usedIds.has(id)) return complain(`messages.${index}: \`tool_use\` ids must be unique`);
      usedIds.add(id);
    }
    return checkResults(message, previous, index) ?? checkUnanswered(message, messages[index + 1], index);
  });
}

function checkResults(message: JsonObject, previous: JsonObject | undefined, index: number): Check {
  const called = new Set(previous ? idsOf(previous, 'tool_use', 'id') : []);
  let hasContent = false;
  return firstOf(listOf(message['content']).map(objectOf), (block, at) => {
    if (block['type'] !== 'tool_result') {
      hasContent = true;
      return undefined;
    }
    const id = textOf(block['tool_use_id']);
    if (!called.delete(id)) {
      return complain(
        `messages.${index}.content.${at}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}. ` +
          'Each `tool_result` block must have a corresponding `tool_use` block in the previous message.',
      );
    }
    return hasContent
      ? complain(
          `messages.${index}.content.${at}: \`tool_result\` blocks must come first in the user message`,
        )
      : undefined;
  });
}

function checkUnanswered(message: JsonObject, next: JsonObject | undefined, index: number): Check {
  const answered = new Set(next ? idsOf(next, 'tool_result', 'tool_use_id') : []);
  const open = idsOf(message, 'tool_use', 'id').filter((id) => !answered.has(id));
  return open.length === 0
    ? undefined
    : complain(
        `messages.${index + 1}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ` +
          `${open.join(', ')}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`,
      );
}

function idsOf(message: JsonObject, type: string, field: string): string[] {
  return listOf(message['content'])
    .map(objectOf)
    .filter((block) => block['type'] === type)
    .map((block) => textOf(block[field]));
}
