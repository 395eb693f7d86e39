const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
export const messagesTools = [
  { name: 'weather', description: 'The weather', input_schema: schema },
  { name: 'clock', description: 'The time', input_schema: { type: 'object', properties: {} } },
];
export const chatTools = messagesTools.map(({ input_schema: parameters, ...rest }) => ({
  type: 'function',
  function: { ...rest, parameters },
}));
export const twoTools =
  'Both? [[interleave]][[tool=weather({"city":"Graz, in the south"})]][[tool=weather({"city":"Ulm, by the river"})]]';

/** A later turn of an agent, with fields that only the Messages dialect has. */
export const agentTurn = (model: string, stream: boolean): Record<string, unknown> => ({
  model,
  max_tokens: 1_000,
  stream,
  system: [{ type: 'text', text: 'You are an agent.', cache_control: { type: 'ephemeral' } }],
  messages: [
    { role: 'user', content: 'Read the note.' },
    {
      role: 'assistant',
      content: [{ type: 'tool_use', id: 'toolu_1', name: 'weather', input: { city: 'Graz' } }],
    },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'toolu_1', content: [{ type: 'text', text: 'sunny' }] },
        { type: 'text', text: 'And then? [[tokens=40]]', cache_control: { type: 'ephemeral' } },
      ],
    },
    { role: 'system', content: 'The user is in a hurry.' },
  ],
  tools: [messagesTools[0], { ...messagesTools[1], defer_loading: true }],
  thinking: { type: 'adaptive', display: 'summarized' },
  context_management: { edits: [] },
  output_config: { effort: 'medium' },
  metadata: { user_id: JSON.stringify({ device_id: 'd'.repeat(64), session_id: 's' }) },
});
