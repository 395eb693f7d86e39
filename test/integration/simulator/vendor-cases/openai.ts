import { branchingSchema, closedSchema, openSchema, type VendorCase } from './vendor-case';

const tools = [{ type: 'function', function: { name: 'count', parameters: { type: 'object' } } }];
const strictTool = (parameters: object): object => ({
  tools: [{ type: 'function', function: { name: 'count', parameters, strict: true } }],
});
const format = (schema: object): object => ({
  response_format: { type: 'json_schema', json_schema: { name: 'count', schema, strict: true } },
});

const chatCase = (model: string, rule: string, says: string, breaks: object, keeps: object): VendorCase => ({
  wire: 'chat',
  model,
  rule,
  says,
  breaks,
  keeps,
});
const responsesCase = (
  model: string,
  rule: string,
  says: string,
  breaks: object,
  keeps: object,
): VendorCase => ({
  ...chatCase(model, rule, says, breaks, keeps),
  wire: 'responses',
});

const functionsError = 'Function tools with reasoning_effort are not supported for';

export const openaiChatCases: readonly VendorCase[] = [
  chatCase(
    'gpt-5.6-sol',
    'an effort that the model does not have',
    "'reasoning_effort' does not support 'minimal' with this model. Supported values are: 'none', 'low', 'medium', 'high', and 'xhigh'.",
    { reasoning_effort: 'minimal' },
    { reasoning_effort: 'low' },
  ),
  chatCase(
    'gpt-6-astra',
    'an effort that the model does not have',
    "'reasoning_effort' does not support 'none' with this model.",
    { reasoning_effort: 'none' },
    { reasoning_effort: 'low' },
  ),
  chatCase(
    'gpt-4.1',
    'an effort that the model does not have',
    'Unrecognized request argument supplied: reasoning_effort',
    { reasoning_effort: 'low' },
    {},
  ),
  chatCase(
    'gpt-5.5',
    'functions beside reasoning',
    `${functionsError} gpt-5.5 in /v1/chat/completions. Please use /v1/responses instead.`,
    { tools, reasoning_effort: 'low' },
    { tools },
  ),
  chatCase(
    'gpt-6-luna',
    'functions beside reasoning',
    `${functionsError} gpt-6-luna in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.`,
    { tools },
    { tools, reasoning_effort: 'none' },
  ),
  chatCase(
    'gpt-6.1-sol',
    'functions beside reasoning',
    `${functionsError} gpt-6.1-sol in /v1/chat/completions. Please use /v1/responses instead.`,
    { tools, reasoning_effort: 'low' },
    { reasoning_effort: 'low' },
  ),
  chatCase(
    'gpt-5-mini',
    'sampling beside reasoning',
    "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported.",
    { temperature: 0.2 },
    { temperature: 1 },
  ),
  chatCase(
    'gpt-5.6-terra',
    'sampling beside reasoning',
    "Unsupported parameter: 'top_p' is not supported with this model.",
    { top_p: 0.9 },
    { top_p: 0.9, reasoning_effort: 'none' },
  ),
  chatCase(
    'gpt-5.4',
    'sampling beside reasoning',
    "Unsupported parameter: 'logprobs' is not supported with this model.",
    { logprobs: true, reasoning_effort: 'low' },
    { logprobs: true },
  ),
  chatCase(
    'gpt-6-sol',
    'max_tokens of a reasoning model',
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    { max_tokens: 100 },
    { max_completion_tokens: 100 },
  ),
  chatCase(
    'gpt-6-astra',
    'stop and penalties of a reasoning model',
    "Unsupported parameter: 'stop' is not supported with this model.",
    { stop: ['.'] },
    {},
  ),
  chatCase(
    'gpt-4.1',
    'top_logprobs without logprobs',
    "'top_logprobs' is only allowed when 'logprobs' is enabled.",
    { top_logprobs: 3 },
    { top_logprobs: 3, logprobs: true },
  ),
  chatCase(
    'gpt-5.5',
    'an open or branching strict schema',
    "Invalid schema for response_format 'count': In context=('properties', 'count'), 'oneOf' is not permitted.",
    format(branchingSchema),
    format(closedSchema),
  ),
  chatCase(
    'gpt-4.1',
    'an open or branching strict function',
    "Invalid schema for function 'count': In context=(), 'additionalProperties' is required to be supplied and to be false.",
    strictTool(openSchema),
    strictTool(closedSchema),
  ),
  {
    ...chatCase(
      'gpt-5.5-pro',
      'a model of the responses interface alone',
      'This model is only supported in v1/responses and not in v1/chat/completions.',
      {},
      {},
    ),
    status: 404,
  },
];

const reasoning = (secret: string): object => ({
  input: [
    { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: secret },
    { role: 'assistant', content: [{ type: 'output_text', text: 'One' }] },
    { role: 'user', content: 'hello' },
  ],
});
const call = (id: string): object => ({
  input: [
    { type: 'function_call', call_id: id, name: 'count', arguments: '{}' },
    { type: 'function_call_output', call_id: id, output: '1' },
  ],
});
const textFormat = (schema: object): object => ({
  text: { format: { type: 'json_schema', name: 'count', schema, strict: true } },
});

export const openaiResponsesCases: readonly VendorCase[] = [
  responsesCase(
    'gpt-6-sol',
    'an effort that the model does not have',
    "Unsupported value: 'minimal' is not supported with the 'gpt-6-sol' model.",
    { reasoning: { effort: 'minimal' } },
    { reasoning: { effort: 'max' } },
  ),
  responsesCase(
    'gpt-4.1',
    'an effort that the model does not have',
    "Unsupported parameter: 'reasoning.effort' is not supported with this model.",
    { reasoning: { effort: 'low' } },
    {},
  ),
  responsesCase(
    'gpt-6.1-sol',
    'sampling beside reasoning',
    "Unsupported parameter: 'temperature' is not supported with this model.",
    { temperature: 0.2 },
    { temperature: 1 },
  ),
  responsesCase(
    'gpt-5.5',
    'encrypted reasoning of another account',
    'The encrypted content b3Ro...dA== could not be verified.',
    reasoning(Buffer.from('other account').toString('base64')),
    reasoning(Buffer.from('oai1|sim-key|1').toString('base64')),
  ),
  responsesCase(
    'gpt-5.5',
    'ids that are too long',
    "Invalid 'input[0].call_id': string too long. Expected a string with maximum length 64, but got a string with length 65 instead.",
    call('c'.repeat(65)),
    call('c'.repeat(64)),
  ),
  responsesCase(
    'gpt-5.4-mini',
    'an open or branching strict schema',
    "'oneOf' is not permitted.",
    textFormat(branchingSchema),
    textFormat(closedSchema),
  ),
];
