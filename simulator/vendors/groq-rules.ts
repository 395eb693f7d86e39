import { listOf, objectOf, textOf } from '../json';
import { isPresent, type Refusal, type VendorRule } from './rule';

export interface GroqModel {
  readonly vendor: 'groq';
  readonly id: string;
  readonly efforts: readonly string[];
}

export const groqModels: readonly GroqModel[] = [
  { vendor: 'groq', id: 'openai/gpt-oss-120b', efforts: ['low', 'medium', 'high'] },
  { vendor: 'groq', id: 'openai/gpt-oss-20b', efforts: ['low', 'medium', 'high'] },
  { vendor: 'groq', id: 'qwen/qwen3.6-27b', efforts: ['none', 'default'] },
];

const refusal = (message: string): Refusal => ({
  status: 400,
  body: { error: { message, type: 'invalid_request_error' } },
});

/** Fields in the typings of groq-sdk 1.6.0, except those documented as unsupported. */
const fields = new Set(
  (
    'messages model citation_options compound_custom disable_tool_validation documents exclude_domains ' +
    'frequency_penalty function_call functions include_domains include_reasoning max_completion_tokens max_tokens ' +
    'metadata n parallel_tool_calls presence_penalty reasoning_effort reasoning_format response_format ' +
    'search_settings seed service_tier stop stream stream_options temperature tool_choice tools top_p user'
  ).split(' '),
);
const messageFields = new Set(
  'role content tool_calls tool_call_id function_call reasoning channel'.split(' '),
);

const DOCS = 'https://console.groq.com/docs/openai';

export const groqRules: readonly VendorRule<GroqModel>[] = [
  {
    name: 'a field that it does not know',
    source: `${DOCS}; words: https://github.com/fanenr/chatbot/issues/21`,
    refuses: ({ body }) => {
      const unknownField = Object.keys(body).find((name) => !fields.has(name) && isPresent(body, name));
      return unknownField === undefined ? undefined : refusal(`property '${unknownField}' is unsupported`);
    },
  },
  {
    name: 'a field of a message that it does not know',
    source: `${DOCS}; words: https://github.com/janhq/jan/issues/8136`,
    refuses: ({ body }) => {
      for (const [index, message] of listOf(body['messages']).map(objectOf).entries()) {
        const unknownField = Object.keys(message).find((name) => !messageFields.has(name));
        if (unknownField === undefined) continue;
        const path = `'messages.${index}'`;
        return refusal(
          `${path} : for 'role:${textOf(message['role'])}' the following must be satisfied` +
            `[(${path} : property '${unknownField}' is unsupported)]`,
        );
      }
      return undefined;
    },
  },
  {
    name: 'more than one answer',
    source: `${DOCS}; words recalled`,
    refuses: ({ body }) =>
      isPresent(body, 'n') && body['n'] !== 1 ? refusal("'n' : number must be at most 1") : undefined,
  },
  {
    name: 'an effort that the model does not have',
    source: 'https://console.groq.com/docs/reasoning; words recalled',
    refuses: ({ body }, { efforts }) =>
      isPresent(body, 'reasoning_effort') && !efforts.includes(textOf(body['reasoning_effort']))
        ? refusal(`\`reasoning_effort\` must be one of ${efforts.map((value) => `\`${value}\``).join(', ')}`)
        : undefined,
  },
];
