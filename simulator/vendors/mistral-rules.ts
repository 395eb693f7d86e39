import { listOf, objectOf, textOf, type JsonObject } from '../json';
import { isPresent, type Refusal, type VendorRule } from './rule';

export interface MistralModel {
  readonly vendor: 'mistral';
  readonly id: string;
  readonly efforts: readonly string[];
}

/** https://api.mistral.ai/v1/models, as copied in the AI SDK's catalogue of 6 October 2026. */
export const mistralModels: readonly MistralModel[] = [
  { vendor: 'mistral', id: 'mistral-large-4', efforts: ['low', 'medium', 'high'] },
  { vendor: 'mistral', id: 'mistral-large-2512', efforts: [] },
  { vendor: 'mistral', id: 'mistral-large-latest', efforts: [] },
  { vendor: 'mistral', id: 'mistral-medium-latest', efforts: ['none', 'high'] },
  { vendor: 'mistral', id: 'mistral-small-latest', efforts: ['none', 'high'] },
];

/** Fields in the typings of @mistralai/mistralai 2.7.0. */
const fields = new Set(
  (
    'model messages temperature top_p max_tokens stream stop random_seed metadata response_format tools tool_choice ' +
    'presence_penalty frequency_penalty n prediction parallel_tool_calls prompt_mode reasoning_effort safe_prompt ' +
    'prompt_cache_key guardrails service_tier'
  ).split(' '),
);
const messageFields = new Set('role content tool_calls tool_call_id name prefix'.split(' '));

function extraInputError(loc: readonly (string | number)[], input: unknown): Refusal {
  const detail = [{ type: 'extra_forbidden', loc, msg: 'Extra inputs are not permitted', input }];
  return {
    status: 422,
    body: { object: 'error', message: { detail }, type: 'invalid_request_error', param: null, code: null },
  };
}

const refusal = (message: string, type: string, code: string): Refusal => ({
  status: 400,
  body: { object: 'error', message, type, param: null, code, raw_status_code: 400 },
});

/** Ids of all tool calls and of the tool messages that answer them. */
function callIds(body: JsonObject): readonly string[] {
  return listOf(body['messages'])
    .map(objectOf)
    .flatMap((message) => [
      ...listOf(message['tool_calls']).map((call) => textOf(objectOf(call)['id'])),
      ...(message['role'] === 'tool' ? [textOf(message['tool_call_id'])] : []),
    ]);
}

export const mistralRules: readonly VendorRule<MistralModel>[] = [
  {
    name: 'a field that it does not know',
    source: 'https://github.com/editor-code-assistant/eca/issues/231',
    refuses: ({ body }) => {
      const unknownField = Object.keys(body).find((name) => !fields.has(name));
      return unknownField === undefined
        ? undefined
        : extraInputError(['body', unknownField], body[unknownField]);
    },
  },
  {
    name: 'a field of a message that it does not know',
    source: 'https://github.com/charmbracelet/crush/issues/1590',
    refuses: ({ body }) => {
      for (const [index, message] of listOf(body['messages']).map(objectOf).entries()) {
        const unknownField = Object.keys(message).find((name) => !messageFields.has(name));
        if (unknownField !== undefined)
          return extraInputError(
            ['body', 'messages', index, textOf(message['role']), unknownField],
            message[unknownField],
          );
      }
      return undefined;
    },
  },
  {
    name: 'an id of a tool call that is not nine letters or digits',
    source: 'https://github.com/nearai/ironclaw/issues/1241',
    refuses: ({ body }) => {
      const invalidId = callIds(body).find((id) => !/^[a-zA-Z0-9]{9}$/.test(id));
      return invalidId === undefined
        ? undefined
        : refusal(
            `Tool call id was ${invalidId} but must be a-z, A-Z, 0-9, with a length of 9.`,
            'invalid_function_call',
            '3280',
          );
    },
  },
  {
    name: 'an effort that the model does not have',
    source: 'https://docs.mistral.ai/studio/conversations/reasoning; words recalled',
    refuses: ({ body }, { efforts }) =>
      isPresent(body, 'reasoning_effort') && !efforts.includes(textOf(body['reasoning_effort']))
        ? refusal(
            efforts.length === 0
              ? 'reasoning_effort is not supported for this model'
              : `reasoning_effort must be one of ${efforts.join(', ')}`,
            'invalid_request_error',
            '3051',
          )
        : undefined,
  },
];
