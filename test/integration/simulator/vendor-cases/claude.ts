import { boundedSchema, closedSchema, openSchema, type VendorCase } from './vendor-case';

const tool = { name: 'count', input_schema: { type: 'object' } };
const user = { role: 'user', content: 'hello' };
const format = (schema: object): object => ({ output_config: { format: { type: 'json_schema', schema } } });
const toolRound = (id: string, before: object[] = []): object => ({
  tools: [tool],
  messages: [
    user,
    { role: 'assistant', content: [...before, { type: 'tool_use', id, name: 'count', input: {} }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: '1' }] },
  ],
});
const thinking = (type: string, more: object = {}): object => ({ thinking: { type, ...more } });
const budget = (budgetTokens: number): object => thinking('enabled', { budget_tokens: budgetTokens });

const claudeCase = (
  model: string,
  rule: string,
  says: string,
  breaks: object,
  keeps: object,
): VendorCase => ({
  wire: 'messages',
  model,
  rule,
  says,
  breaks,
  keeps,
});

export const claudeCases: readonly VendorCase[] = [
  ...['claude-opus-5-5', 'claude-sonnet-5-5', 'claude-opus-5', 'claude-opus-4-7'].map((model) =>
    claudeCase(
      model,
      'a type of thinking that the model does not have',
      '"thinking.type.enabled" is not supported for this model. Use',
      budget(2_000),
      thinking('adaptive'),
    ),
  ),
  ...['claude-opus-5-5', 'claude-fable-5'].map((model) =>
    claudeCase(
      model,
      'a type of thinking that the model does not have',
      '"thinking.type.disabled" is not supported for this model.',
      thinking('disabled'),
      { output_config: { effort: 'low' } },
    ),
  ),
  claudeCase(
    'claude-opus-4-5',
    'a type of thinking that the model does not have',
    '"thinking.type.adaptive" is not supported for this model.',
    thinking('adaptive'),
    budget(2_000),
  ),
  claudeCase(
    'claude-haiku-4-5',
    'an effort that the model does not have',
    'This model does not support the effort parameter.',
    { output_config: { effort: 'low' } },
    {},
  ),
  claudeCase(
    'claude-opus-4-6',
    'an effort that the model does not have',
    'output_config.effort: Input should be',
    { output_config: { effort: 'xhigh' } },
    { output_config: { effort: 'max' } },
  ),
  claudeCase(
    'claude-opus-5',
    'an effort above high without thinking',
    "output_config.effort 'xhigh' is not supported when thinking is disabled on this model.",
    { ...thinking('disabled'), output_config: { effort: 'xhigh' } },
    { ...thinking('disabled'), output_config: { effort: 'high' } },
  ),
  claudeCase(
    'claude-sonnet-5',
    'sampling that the model does not take',
    '`temperature` is deprecated for this model.',
    { temperature: 0.2 },
    { temperature: 1 },
  ),
  claudeCase(
    'claude-opus-5-5',
    'sampling that the model does not take',
    '`top_k` is deprecated for this model.',
    { top_k: 5 },
    {},
  ),
  claudeCase(
    'claude-sonnet-4-6',
    'two kinds of sampling at once',
    '`temperature` and `top_p` cannot both be specified for this model.',
    { temperature: 0.2, top_p: 0.9 },
    { temperature: 0.2 },
  ),
  claudeCase(
    'claude-sonnet-4-5',
    'a temperature beside thinking',
    '`temperature` may only be set to 1 when thinking is enabled.',
    { ...budget(2_000), temperature: 0.2 },
    { ...budget(2_000), temperature: 1 },
  ),
  claudeCase(
    'claude-opus-5-5',
    'a forced tool',
    'tool_choice: type "tool" and "any" are not supported for this model.',
    { tools: [tool], tool_choice: { type: 'any' } },
    { tools: [tool], tool_choice: { type: 'auto' } },
  ),
  claudeCase(
    'claude-opus-4-5',
    'a forced tool beside thinking',
    'Thinking may not be enabled when tool_choice forces tool use.',
    { ...budget(2_000), tools: [tool], tool_choice: { type: 'tool', name: 'count' } },
    { tools: [tool], tool_choice: { type: 'tool', name: 'count' } },
  ),
  claudeCase(
    'claude-opus-4-6',
    'a last message of the assistant',
    'This model does not support assistant message prefill. The conversation must end with a user message.',
    { messages: [user, { role: 'assistant', content: 'One' }] },
    { messages: [user, { role: 'assistant', content: 'One' }, user] },
  ),
  claudeCase(
    'claude-haiku-4-5',
    'more output than the model writes',
    'max_tokens: 64001 > 64000, which is the maximum allowed number of output tokens for claude-haiku-4-5',
    { max_tokens: 64_001 },
    { max_tokens: 64_000 },
  ),
  claudeCase(
    'claude-haiku-4-5',
    'a budget below the least or not below max_tokens',
    'thinking.enabled.budget_tokens: Input should be greater than or equal to 1024',
    budget(1_023),
    budget(1_024),
  ),
  claudeCase(
    'claude-haiku-4-5',
    'a budget below the least or not below max_tokens',
    '`max_tokens` must be greater than `thinking.budget_tokens`.',
    budget(4_000),
    budget(3_999),
  ),
  claudeCase(
    'claude-sonnet-5-5',
    'a schema of the answer with bounds or open objects',
    "output_config.format.schema: For 'integer' type, property 'minimum' is not supported",
    format(boundedSchema),
    format(closedSchema),
  ),
  claudeCase(
    'claude-haiku-4-5',
    'a schema of the answer with bounds or open objects',
    "For 'object' type, 'additionalProperties' must be explicitly set to false",
    format(openSchema),
    format(closedSchema),
  ),
  claudeCase(
    'claude-opus-5-5',
    'a strict tool with bounds or open objects',
    "For 'integer' type, property 'minimum' is not supported",
    { tools: [{ ...tool, input_schema: boundedSchema, strict: true }] },
    { tools: [{ ...tool, input_schema: boundedSchema }] },
  ),
  ...['', 'c2lnbmVkIGVsc2V3aGVyZQ=='].map((signature) =>
    claudeCase(
      'claude-opus-5-5',
      'thinking without a signature of the vendor',
      'messages.1.content.0: Invalid `signature` in `thinking` block',
      toolRound('toolu_1', [{ type: 'thinking', thinking: 'hm', signature }]),
      toolRound('toolu_1'),
    ),
  ),
  claudeCase(
    'claude-haiku-4-5',
    'a round of tools that does not begin with thinking',
    'messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`.',
    { ...budget(2_000), ...toolRound('toolu_1') },
    toolRound('toolu_1'),
  ),
  claudeCase(
    'claude-opus-5-5',
    'an id of a tool call with other characters',
    "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
    toolRound('functions.count:0'),
    toolRound('functions_count_0'),
  ),
];
