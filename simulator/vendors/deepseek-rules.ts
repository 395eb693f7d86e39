import { listOf, objectOf, textOf, type JsonObject } from '../json';
import type { Refusal, VendorRule } from './rule';

export interface DeepseekModel {
  readonly vendor: 'deepseek';
  readonly id: string;
}

export const deepseekModels: readonly DeepseekModel[] = [
  'deepseek-flash',
  'deepseek-v4-flash',
  'deepseek-v4-pro',
].map((id) => ({ vendor: 'deepseek', id }));

const refusal = (message: string): Refusal => ({
  status: 400,
  body: {
    error: { message, type: 'invalid_request_error', param: null, code: 'invalid_request_error' },
  },
});

/** Thinks unless the request disables it. */
export const deepseekThinks = (body: JsonObject): boolean =>
  objectOf(body['thinking'])['type'] !== 'disabled';

const roles = ['system', 'user', 'assistant', 'tool', 'latest_reminder'];

export const deepseekRules: readonly VendorRule<DeepseekModel>[] = [
  {
    name: 'a role that it does not know',
    source: 'https://github.com/decolua/9router/issues/773',
    refuses: ({ body }) => {
      const messages = listOf(body['messages']).map(objectOf);
      const index = messages.findIndex(({ role }) => !roles.includes(textOf(role)));
      return index < 0
        ? undefined
        : refusal(
            'Failed to deserialize the JSON body into the target type: ' +
              `messages[${index}].role: unknown variant \`${textOf(messages[index]?.['role'])}\`, ` +
              `expected one of ${roles.map((role) => `\`${role}\``).join(', ')}`,
          );
    },
  },
  {
    name: 'reasoning that does not come back',
    source:
      'https://api-docs.deepseek.com/guides/thinking_mode.md as read in https://github.com/bojieli/ai-agent-book/pull/982; ' +
      'an empty text is taken: https://github.com/aaif-goose/goose/pull/9597',
    refuses: ({ body }) => {
      const isReasoningMissing = listOf(body['messages'])
        .map(objectOf)
        .some(
          ({ role, reasoning_content: reasoning }) => role === 'assistant' && typeof reasoning !== 'string',
        );
      return deepseekThinks(body) && listOf(body['tools']).length > 0 && isReasoningMissing
        ? refusal('The `reasoning_content` in the thinking mode must be passed back to the API.')
        : undefined;
    },
  },
  {
    name: 'a schema of the answer',
    source: 'https://api-docs.deepseek.com/guides/json_mode; words recalled',
    refuses: ({ body }) =>
      objectOf(body['response_format'])['type'] === 'json_schema'
        ? refusal('This response_format type is unavailable now')
        : undefined,
  },
];
