import { branchingSchema, closedSchema, type VendorCase } from './vendor-case';

const user = { role: 'user', content: 'hello' };
const chatCase = (model: string, rule: string, says: string, breaks: object, keeps: object): VendorCase => ({
  wire: 'chat',
  model,
  rule,
  says,
  breaks,
  keeps,
});
const toolRounds = (id: string, more: object = {}): object => ({
  messages: [
    user,
    {
      role: 'assistant',
      content: '',
      tool_calls: [{ id, type: 'function', function: { name: 'count', arguments: '{}' } }],
      ...more,
    },
    { role: 'tool', tool_call_id: id, content: '1' },
  ],
});
const tools = [{ type: 'function', function: { name: 'count', parameters: { type: 'object' } } }];
const answeredTurns = (more: object): object => ({
  messages: [user, { role: 'assistant', content: 'One', ...more }, user],
});

export const deepseekCases: readonly VendorCase[] = [
  chatCase(
    'deepseek-v4-pro',
    'a role that it does not know',
    'messages[0].role: unknown variant `developer`, expected one of `system`, `user`, `assistant`, `tool`',
    { messages: [{ role: 'developer', content: 'Be brief.' }, user] },
    { messages: [{ role: 'system', content: 'Be brief.' }, user] },
  ),
  chatCase(
    'deepseek-flash',
    'reasoning that does not come back',
    'The `reasoning_content` in the thinking mode must be passed back to the API.',
    { tools, ...toolRounds('call_1') },
    { tools, ...toolRounds('call_1', { reasoning_content: '' }) },
  ),
  chatCase(
    'deepseek-v4-pro',
    'reasoning that does not come back',
    'The `reasoning_content` in the thinking mode must be passed back to the API.',
    { tools, ...answeredTurns({}) },
    answeredTurns({}),
  ),
  chatCase(
    'deepseek-v4-pro',
    'a schema of the answer',
    'This response_format type is unavailable now',
    { response_format: { type: 'json_schema', json_schema: { name: 'count', schema: closedSchema } } },
    { response_format: { type: 'json_object' } },
  ),
];

export const groqCases: readonly VendorCase[] = [
  chatCase(
    'openai/gpt-oss-120b',
    'a field that it does not know',
    "property 'logprobs' is unsupported",
    { logprobs: true },
    { temperature: 0.2 },
  ),
  chatCase(
    'openai/gpt-oss-20b',
    'a field of a message that it does not know',
    "'messages.0' : for 'role:user' the following must be satisfied[('messages.0' : property 'name' is unsupported)]",
    { messages: [{ ...user, name: 'ann' }] },
    {},
  ),
  chatCase(
    'openai/gpt-oss-120b',
    'a field of a message that it does not know',
    "property 'reasoning_content' is unsupported",
    answeredTurns({ reasoning_content: 'hm' }),
    answeredTurns({ reasoning: 'hm' }),
  ),
  chatCase(
    'openai/gpt-oss-120b',
    'more than one answer',
    "'n' : number must be at most 1",
    { n: 2 },
    { n: 1 },
  ),
  chatCase(
    'qwen/qwen3.6-27b',
    'an effort that the model does not have',
    '`reasoning_effort` must be one of `none`, `default`',
    { reasoning_effort: 'low' },
    { reasoning_effort: 'none' },
  ),
];

export const xaiCases: readonly VendorCase[] = [
  chatCase(
    'grok-4.7',
    'penalties and stop',
    'Model grok-4.7 does not support parameter presencePenalty.',
    { presence_penalty: 0 },
    {},
  ),
  chatCase(
    'grok-4.20',
    'an effort that the model does not have',
    'Model grok-4.20 does not support parameter reasoningEffort.',
    { reasoning_effort: 'low' },
    {},
  ),
  chatCase(
    'grok-4.5',
    'an effort that the model does not have',
    'Model grok-4.5 does not support reasoning effort none.',
    { reasoning_effort: 'none' },
    { reasoning_effort: 'low' },
  ),
];

export const mistralCases: readonly VendorCase[] = [
  {
    ...chatCase(
      'mistral-large-4',
      'a field that it does not know',
      'Extra inputs are not permitted',
      { max_completion_tokens: 100 },
      { max_tokens: 100 },
    ),
    status: 422,
  },
  {
    ...chatCase(
      'mistral-medium-latest',
      'a field of a message that it does not know',
      'reasoning_content',
      answeredTurns({ reasoning_content: 'hm' }),
      answeredTurns({}),
    ),
    status: 422,
  },
  chatCase(
    'mistral-small-latest',
    'an id of a tool call that is not nine letters or digits',
    'Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.',
    toolRounds('call_1'),
    toolRounds('abcDEF123'),
  ),
  chatCase(
    'mistral-medium-latest',
    'an effort that the model does not have',
    'reasoning_effort must be one of none, high',
    { reasoning_effort: 'low' },
    { reasoning_effort: 'high' },
  ),
];

const geminiCase = (
  model: string,
  rule: string,
  says: string,
  breaks: object,
  keeps: object,
): VendorCase => ({
  ...chatCase(model, rule, says, breaks, keeps),
  wire: 'gemini',
});
const thinking = (thinkingConfig: object): object => ({ generationConfig: { thinkingConfig } });
const schema = (responseSchema: object): object => ({
  generationConfig: { responseMimeType: 'application/json', responseSchema },
});
const openSchema = { type: 'object', properties: { count: { type: 'integer' } }, required: ['count'] };
const withFunction = (parameters: object): object => ({
  tools: [{ functionDeclarations: [{ name: 'count', parameters }] }],
});
const userTurn = { role: 'user', parts: [{ text: 'hello' }] };
const functionCall = (signature?: string): object => ({
  contents: [
    userTurn,
    {
      role: 'model',
      parts: [
        {
          functionCall: { name: 'count', args: {} },
          ...(signature === undefined ? {} : { thoughtSignature: signature }),
        },
      ],
    },
    { role: 'user', parts: [{ functionResponse: { name: 'count', response: { result: 1 } } }] },
  ],
});
const callWithoutSignature = functionCall('skip_thought_signature_validator');

export const geminiCases: readonly VendorCase[] = [
  geminiCase(
    'gemini-3.5-flash',
    'a level beside a budget',
    'You can only set only one of thinking budget and thinking level.',
    thinking({ thinkingLevel: 'LOW', thinkingBudget: 1_000 }),
    thinking({ thinkingLevel: 'LOW' }),
  ),
  geminiCase(
    'gemini-3.8-flash',
    'a level that the model does not have',
    'Thinking level MINIMAL is not supported for this model. Please retry with other thinking level.',
    thinking({ thinkingLevel: 'MINIMAL' }),
    thinking({ thinkingLevel: 'low' }),
  ),
  geminiCase(
    'gemini-2.5-flash',
    'a level that the model does not have',
    'Thinking level is not supported for this model.',
    thinking({ thinkingLevel: 'LOW' }),
    thinking({ thinkingBudget: 0 }),
  ),
  geminiCase(
    'gemini-2.5-pro',
    'a budget outside the range',
    'The thinking budget 32769 is invalid. Please choose a value between 128 and 32768.',
    thinking({ thinkingBudget: 32_769 }),
    thinking({ thinkingBudget: 32_768 }),
  ),
  geminiCase(
    'gemini-4-argon',
    'a budget outside the range',
    'Budget 0 is invalid. This model only works in thinking mode.',
    thinking({ thinkingBudget: 0 }),
    thinking({ thinkingBudget: -1 }),
  ),
  geminiCase(
    'gemini-3.1-pro-preview',
    'a call without its signature',
    'Function call is missing a thought_signature in functionCall parts.',
    functionCall(),
    callWithoutSignature,
  ),
  geminiCase(
    'gemini-3.7-flash',
    'a signature from elsewhere',
    'Corrupted thought signature.',
    functionCall('c2lnbmVkIGVsc2V3aGVyZQ=='),
    callWithoutSignature,
  ),
  geminiCase(
    'gemini-2.5-flash',
    'a schema of the answer with unknown words',
    'Invalid JSON payload received. Unknown name "additionalProperties" at \'generation_config.response_schema\': Cannot find field.',
    schema(closedSchema),
    schema(openSchema),
  ),
  geminiCase(
    'gemini-3.5-flash',
    'parameters of a function with unknown words',
    "at 'tools[0].function_declarations[0].parameters.properties[0].value': Cannot find field.",
    withFunction({ ...openSchema, properties: branchingSchema.properties }),
    withFunction(openSchema),
  ),
  geminiCase(
    'gemini-3.5-flash-lite',
    'penalties and a last turn of the model',
    'Penalty is not enabled for this model',
    { generationConfig: { presencePenalty: 0.5 } },
    {},
  ),
];
