import { entryOf, listOf, objectOf, textOf, type JsonObject } from '../json';
import { noStoredResponses } from '../dialects/response-store';
import {
  fieldSet,
  firstOf,
  invalidType,
  invalidValue,
  missingParameter,
  numberWithin,
  objectSchema,
  optional,
  strictSchema,
  unknownParameter,
  type Check,
} from './strict';
import { checkItems } from './strict-items';

const fields = fieldSet(
  'model input instructions background client_metadata context_management conversation include max_output_tokens ' +
    'max_tool_calls metadata parallel_tool_calls previous_response_id prompt prompt_cache_key ' +
    'prompt_cache_retention reasoning safety_identifier service_tier store stream stream_options temperature text ' +
    'tool_choice tools top_logprobs top_p truncation user',
);
const itemFields: Readonly<Record<string, ReadonlySet<string>>> = {
  message: fieldSet('type role content id status phase'),
  function_call: fieldSet('type call_id name arguments id status namespace'),
  function_call_output: fieldSet('type call_id output id status'),
  reasoning: fieldSet('type id summary content encrypted_content status'),
  item_reference: fieldSet('type id'),
  // Typings of openai 7.59.0 (`ResponseInputItem.AdditionalTools`). Codex 0.171.0 sends one as the first item for a model
  // that it knows, such as gpt-6.1-sol, and then has no `tools` at the top of the body.
  additional_tools: fieldSet('type role tools id'),
};
const otherItems = fieldSet(
  'custom_tool_call custom_tool_call_output local_shell_call local_shell_call_output web_search_call ' +
    'tool_search_call tool_search_output compaction mcp_call mcp_list_tools image_generation_call',
);
const functionFields = fieldSet('type name description parameters strict defer_loading');
const partTypes = fieldSet('input_text input_image input_file input_audio output_text refusal');

export function checkResponses(body: JsonObject, stored = noStoredResponses): Check {
  const { input } = body;
  if (typeof body['model'] !== 'string') return missingParameter('model');
  if (input !== undefined && typeof input !== 'string' && !Array.isArray(input)) {
    return invalidType('input', 'one of a string or array of objects');
  }
  if (input === undefined && body['previous_response_id'] === undefined) return missingParameter('input');
  return (
    unknownParameter(body, fields) ??
    optional(body, 'stream', 'boolean') ??
    optional(body, 'store', 'boolean') ??
    optional(body, 'instructions', 'string') ??
    optional(body, 'include', 'list') ??
    optional(body, 'previous_response_id', 'string') ??
    checkState(body) ??
    numberWithin(body, 'temperature', 0, 2) ??
    numberWithin(body, 'top_p', 0, 1) ??
    numberWithin(body, 'max_output_tokens', 16, 1_000_000, true) ??
    checkFormat(objectOf(objectOf(body['text'])['format'])) ??
    firstOf(listOf(body['tools']).map(objectOf), (tool, index) => checkTool(tool, `tools[${index}]`)) ??
    firstOf(listOf(input).map(objectOf), checkItem) ??
    checkItems(body, stored)
  );
}

function checkState(body: JsonObject): Check {
  if (typeof body['previous_response_id'] !== 'string' || typeof body['conversation'] !== 'string')
    return undefined;
  return {
    message: "Mutually exclusive parameters: 'previous_response_id' and 'conversation'.",
    code: 'mutually_exclusive_parameters',
    param: 'previous_response_id',
  };
}

function checkFormat(format: JsonObject): Check {
  if (format['type'] !== 'json_schema') return undefined;
  const name = format['name'];
  if (typeof name !== 'string') return missingParameter('text.format.name');
  return (
    unknownParameter(format, fieldSet('type name schema strict description'), 'text.format') ??
    (format['strict'] === true ? strictSchema(format['schema'], name, 'text.format.schema') : undefined)
  );
}

/** Checks functions in full, at the top level or in a namespace; the supplier's own tools only by type. */
function checkTool(tool: JsonObject, path: string): Check {
  const type = tool['type'];
  if (typeof type !== 'string') return missingParameter(`${path}.type`);
  if (type === 'namespace') {
    return firstOf(listOf(tool['tools']).map(objectOf), (inner, index) =>
      checkTool(inner, `${path}.tools[${index}]`),
    );
  }
  if (type !== 'function') return undefined;
  const name = textOf(tool['name']);
  if (name === '') return missingParameter(`${path}.name`);
  return (
    unknownParameter(tool, functionFields, path) ??
    objectSchema(tool['parameters'], name, `${path}.parameters`)
  );
}

function checkItem(item: JsonObject, index: number): Check {
  const path = `input[${index}]`;
  const type = textOf(item['type'] ?? (item['role'] === undefined ? 'item_reference' : 'message'));
  const allowed = entryOf(itemFields, type);
  if (allowed === undefined) {
    return otherItems.has(type) ? undefined : invalidValue(`${path}.type`, `Invalid value: '${type}'.`);
  }
  const unknownField = unknownParameter(item, allowed, path);
  if (unknownField) return unknownField;
  switch (type) {
    case 'message':
      return checkMessage(item, path);
    case 'function_call':
      return ['call_id', 'name', 'arguments']
        .filter((field) => typeof item[field] !== 'string')
        .map((field) => missingParameter(`${path}.${field}`))[0];
    case 'function_call_output':
      if (typeof item['call_id'] !== 'string') return missingParameter(`${path}.call_id`);
      return item['output'] === undefined ? missingParameter(`${path}.output`) : undefined;
    case 'additional_tools':
      return checkAdditionalTools(item, path);
    case 'reasoning':
      return Array.isArray(item['summary']) ? undefined : missingParameter(`${path}.summary`);
    default:
      return undefined;
  }
}

function checkAdditionalTools({ role, tools }: JsonObject, path: string): Check {
  if (role !== 'developer')
    return invalidValue(
      `${path}.role`,
      `Invalid value: '${textOf(role)}'. Supported values are: 'developer'.`,
    );
  if (!Array.isArray(tools)) return invalidType(`${path}.tools`, 'an array of objects');
  return firstOf(tools.map(objectOf), (tool, index) => checkTool(tool, `${path}.tools[${index}]`));
}

function checkMessage(item: JsonObject, path: string): Check {
  const role = textOf(item['role']);
  const { content } = item;
  if (!['user', 'assistant', 'system', 'developer'].includes(role)) {
    return invalidValue(
      `${path}.role`,
      `Invalid value: '${role}'. Supported values are: 'assistant', 'system', 'developer', and 'user'.`,
    );
  }
  if (typeof content !== 'string' && !Array.isArray(content)) {
    return invalidType(`${path}.content`, 'one of a string or array of objects');
  }
  return firstOf(listOf(content).map(objectOf), (part, index) => {
    const type = textOf(part['type']);
    const output = type === 'output_text' || type === 'refusal';
    return partTypes.has(type) && output === (role === 'assistant')
      ? undefined
      : invalidValue(`${path}.content[${index}]`, `Invalid value: '${type}' for the role '${role}'.`);
  });
}
