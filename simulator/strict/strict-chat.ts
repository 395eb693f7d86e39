import type { Complaint } from '../complaint';
import { entryOf, isObject, listOf, objectOf, textOf, type JsonObject } from '../json';
import { modelExists, isReasoningModel, type Settings } from '../settings';
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

const fields = fieldSet(
  'model messages audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens ' +
    'max_tokens metadata modalities n parallel_tool_calls prediction presence_penalty prompt_cache_key ' +
    'prompt_cache_retention reasoning_effort response_format safety_identifier seed service_tier stop store ' +
    'stream stream_options temperature tool_choice tools top_logprobs top_p user verbosity web_search_options',
);
/** Fields of a response that a client may send back, including `annotations` and the SDK's `parsed`. */
const assistantFields = 'role content name refusal annotations parsed audio tool_calls function_call';
const messageFields: Readonly<Record<string, ReadonlySet<string>>> = {
  system: fieldSet('role content name'),
  developer: fieldSet('role content name'),
  user: fieldSet('role content name'),
  assistant: fieldSet(assistantFields),
  tool: fieldSet('role content tool_call_id'),
};
const reasoningAssistant = fieldSet(`${assistantFields} reasoning_content`);
const partFields: Readonly<Record<string, ReadonlySet<string>>> = {
  text: fieldSet('type text'),
  image_url: fieldSet('type image_url'),
  input_audio: fieldSet('type input_audio'),
  file: fieldSet('type file'),
  refusal: fieldSet('type refusal'),
};
const toolFields = fieldSet('type function');
const functionFields = fieldSet('name description parameters strict');
const functionName = /^[a-zA-Z0-9_-]{1,64}$/;

export const contentFilterComplaint: Complaint = {
  message: "The response was filtered due to the prompt triggering the supplier's content management policy.",
  code: 'content_filter',
  param: 'prompt',
};

export function checkOpenaiModel(model: unknown, settings: Settings): Check {
  if (model === undefined) return missingParameter('model');
  if (typeof model !== 'string') return invalidType('model', 'a string');
  if (modelExists(model, settings)) return undefined;
  return {
    status: 404,
    message: `The model \`${model}\` does not exist or you do not have access to it.`,
    code: 'model_not_found',
    param: 'model',
  };
}

export function checkChat(body: JsonObject): Check {
  return (
    unknownParameter(body, fields) ??
    checkEnvelope(body) ??
    checkFormat(body['response_format']) ??
    checkTools(body) ??
    checkMessages(body)
  );
}

/** Checks shared by suppliers of this style; each supplier checks its own fields. */
export function checkForeignChat(body: JsonObject): Check {
  const messages = body['messages'];
  if (!Array.isArray(messages) || messages.length === 0) return missingParameter('messages');
  return checkEnvelope(body) ?? checkToolOrder(messages.map(objectOf));
}

function checkEnvelope(body: JsonObject): Check {
  const stops = body['stop'];
  const options = body['stream_options'];
  return (
    (typeof body['model'] === 'string' ? undefined : missingParameter('model')) ??
    optional(body, 'stream', 'boolean') ??
    optional(body, 'user', 'string') ??
    optional(body, 'metadata', 'object') ??
    optional(body, 'parallel_tool_calls', 'boolean') ??
    numberWithin(body, 'temperature', 0, 2) ??
    numberWithin(body, 'top_p', 0, 1) ??
    numberWithin(body, 'presence_penalty', -2, 2) ??
    numberWithin(body, 'frequency_penalty', -2, 2) ??
    numberWithin(body, 'max_tokens', 1, 1_000_000, true) ??
    numberWithin(body, 'max_completion_tokens', 1, 1_000_000, true) ??
    numberWithin(body, 'n', 1, 128, true) ??
    numberWithin(body, 'top_logprobs', 0, 20, true) ??
    (body['max_tokens'] !== undefined && body['max_completion_tokens'] !== undefined
      ? invalidValue(
          'max_tokens',
          "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.",
        )
      : undefined) ??
    (options !== undefined && options !== null && body['stream'] !== true
      ? invalidValue(
          'stream_options',
          "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
        )
      : undefined) ??
    unknownParameter(objectOf(options), fieldSet('include_usage include_obfuscation'), 'stream_options') ??
    (listOf(stops).length > 4
      ? invalidValue('stop', "Invalid 'stop': expected at most 4 sequences.")
      : undefined)
  );
}

function checkFormat(format: unknown): Check {
  if (format === undefined || format === null) return undefined;
  const { type, json_schema: declared } = objectOf(format);
  if (type === 'text' || type === 'json_object') return undefined;
  if (type !== 'json_schema')
    return invalidValue('response_format.type', `Invalid value: '${String(type)}'.`);
  if (!isObject(declared)) return missingParameter('response_format.json_schema');
  const name = declared['name'];
  if (typeof name !== 'string') return missingParameter('response_format.json_schema.name');
  return (
    unknownParameter(declared, fieldSet('name description schema strict'), 'response_format.json_schema') ??
    (declared['strict'] === true ? strictSchema(declared['schema'], name, 'response_format') : undefined)
  );
}

function checkTools(body: JsonObject): Check {
  const tools = body['tools'];
  if (tools === undefined || tools === null) {
    return body['tool_choice'] === undefined || body['tool_choice'] === 'none'
      ? undefined
      : invalidValue('tool_choice', "'tool_choice' is only allowed when 'tools' are specified.");
  }
  if (!Array.isArray(tools)) return invalidType('tools', 'a list');
  if (tools.length === 0)
    return invalidValue('tools', "Invalid 'tools': empty array. Expected at least 1 tool.");
  const names = tools.map((tool) => objectOf(objectOf(tool)['function'])['name']);
  const namedTool = textOf(objectOf(objectOf(body['tool_choice'])['function'])['name']);
  return (
    firstOf(tools.map(objectOf), checkTool) ??
    (namedTool !== '' && !names.includes(namedTool)
      ? invalidValue('tool_choice', `Tool choice 'function.${namedTool}' not found in 'tools' parameter.`)
      : undefined)
  );
}

function checkTool(tool: JsonObject, index: number): Check {
  const path = `tools[${index}]`;
  if (tool['type'] !== 'function') {
    return invalidValue(
      `${path}.type`,
      `Invalid value: '${String(tool['type'])}'. Supported values are: 'function'.`,
    );
  }
  const declared = objectOf(tool['function']);
  const name = textOf(declared['name']);
  if (name === '') return missingParameter(`${path}.function.name`);
  return (
    unknownParameter(tool, toolFields, path) ??
    unknownParameter(declared, functionFields, `${path}.function`) ??
    (functionName.test(name)
      ? undefined
      : invalidValue(
          `${path}.function.name`,
          `Invalid '${path}.function.name': string does not match pattern.`,
        )) ??
    objectSchema(declared['parameters'], name, `${path}.function.parameters`)
  );
}

function checkMessages(body: JsonObject): Check {
  const messages = body['messages'];
  if (messages === undefined) return missingParameter('messages');
  if (!Array.isArray(messages)) return invalidType('messages', 'a list');
  if (messages.length === 0) return invalidValue('messages', "Invalid 'messages': empty array.");
  const showsReasoning = isReasoningModel(textOf(body['model']));
  return (
    firstOf(messages.map(objectOf), (message, index) => checkMessage(message, index, showsReasoning)) ??
    checkToolOrder(messages.map(objectOf))
  );
}

function checkMessage(message: JsonObject, index: number, showsReasoning: boolean): Check {
  const path = `messages[${index}]`;
  const role = textOf(message['role']);
  const allowed = role === 'assistant' && showsReasoning ? reasoningAssistant : entryOf(messageFields, role);
  if (allowed === undefined) {
    return invalidValue(
      `${path}.role`,
      `Invalid value: '${role}'. Supported values are: 'system', 'assistant', 'user', 'tool' and 'developer'.`,
    );
  }
  const content = message['content'];
  const calls = message['tool_calls'];
  const empty = content === undefined || content === null;
  if (empty && !(role === 'assistant' && (calls !== undefined || message['refusal'] !== undefined))) {
    return invalidType(`${path}.content`, 'one of a string or array of objects, but got null instead');
  }
  if (!empty && typeof content !== 'string' && !Array.isArray(content)) {
    return invalidType(`${path}.content`, 'one of a string or array of objects');
  }
  return (
    unknownParameter(message, allowed, path) ??
    firstOf(listOf(content).map(objectOf), (part, at) => checkPart(part, `${path}.content[${at}]`, role)) ??
    (calls === undefined ? undefined : checkCalls(calls, path))
  );
}

function checkPart(part: JsonObject, path: string, role: string): Check {
  const type = textOf(part['type']);
  const allowed = entryOf(partFields, type);
  const textual = type === 'text' || (type === 'refusal' && role === 'assistant');
  if (allowed === undefined || (role !== 'user' && !textual)) {
    return invalidValue(
      path,
      `Invalid value: '${type}'. This content type is not allowed for the role '${role}'.`,
    );
  }
  if (type === 'text' && typeof part['text'] !== 'string') return missingParameter(`${path}.text`);
  if (type === 'image_url') {
    const image = objectOf(part['image_url']);
    if (!/^(https?:\/\/|data:image\/(png|jpeg|gif|webp);base64,)/.test(textOf(image['url']))) {
      return invalidValue(
        `${path}.image_url.url`,
        `Invalid '${path}.image_url.url'. Expected a valid URL or data URL.`,
      );
    }
    return (
      unknownParameter(part, allowed, path) ??
      unknownParameter(image, fieldSet('url detail'), `${path}.image_url`)
    );
  }
  return unknownParameter(part, allowed, path);
}

function checkCalls(calls: unknown, path: string): Check {
  if (!Array.isArray(calls) || calls.length === 0)
    return invalidValue(`${path}.tool_calls`, `Invalid '${path}.tool_calls': empty array.`);
  return firstOf(calls.map(objectOf), (call, index) => {
    const at = `${path}.tool_calls[${index}]`;
    const calledFunction = objectOf(call['function']);
    if (typeof call['id'] !== 'string') return missingParameter(`${at}.id`);
    if (call['type'] !== 'function') return missingParameter(`${at}.type`);
    if (typeof calledFunction['name'] !== 'string') return missingParameter(`${at}.function.name`);
    if (typeof calledFunction['arguments'] !== 'string')
      return invalidType(`${at}.function.arguments`, 'a string');
    return (
      unknownParameter(call, fieldSet('id type function'), at) ??
      unknownParameter(calledFunction, fieldSet('name arguments parsed_arguments'), `${at}.function`)
    );
  });
}

/** Every call must be answered by a tool message before any other message. */
function checkToolOrder(messages: readonly JsonObject[]): Check {
  let open = new Set<string>();
  for (const [index, message] of messages.entries()) {
    if (message['role'] === 'tool') {
      if (!open.delete(textOf(message['tool_call_id']))) {
        return invalidValue(
          `messages.[${index}].role`,
          "Invalid parameter: messages with role 'tool' must be a response to a preceding message with 'tool_calls'.",
        );
      }
      continue;
    }
    if (open.size > 0) return unanswered(open, index);
    open = new Set(listOf(message['tool_calls']).map((call) => textOf(objectOf(call)['id'])));
  }
  return open.size > 0 ? unanswered(open, messages.length) : undefined;
}

function unanswered(open: ReadonlySet<string>, index: number): Complaint {
  return invalidValue(
    `messages.[${index}].role`,
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. " +
      `The following tool_call_ids did not have response messages: ${[...open].join(', ')}`,
  );
}
