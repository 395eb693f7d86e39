import {
  chat,
  chatRound,
  customTool,
  everyUser,
  everywhere,
  hello,
  looseSchema,
  messages,
  messagesRound,
  messagesTool,
  openai,
  pdf,
  messagesPicture,
  pixel,
  type Probe,
  responses,
  responsesPicture,
  responsesRound,
  responsesTool,
  schema,
  tools,
  uploadedFile,
  withTools,
} from './fidelity-shapes';
import { toolProbes } from './fidelity-tools';

/** Every feature that clients use, each as the smallest request that contains it. */
export const probes: readonly Probe[] = [
  {
    feature: 'System text',
    fields: everywhere(
      { messages: [{ role: 'system', content: 'S' }, hello] },
      { system: 'S' },
      { instructions: 'S' },
    ),
  },
  {
    feature: 'Developer text',
    fields: {
      chat: { messages: [{ role: 'developer', content: 'S' }, hello] },
      responses: { input: [{ role: 'developer', content: 'S' }, hello] },
    },
  },
  {
    feature: 'System text in the middle',
    fields: everywhere(
      { messages: [hello, { role: 'system', content: 'S' }, hello] },
      { messages: [hello, { role: 'system', content: 'S' }, hello] },
      { input: [hello, { role: 'system', content: 'S' }, hello] },
    ),
  },
  {
    feature: 'Picture by value',
    fields: everyUser(
      { type: 'image_url', image_url: { url: `data:image/png;base64,${pixel}` } },
      messagesPicture,
      responsesPicture,
    ),
  },
  {
    feature: 'Picture by address',
    fields: everyUser(
      { type: 'image_url', image_url: { url: 'https://x.example/a.png' } },
      { type: 'image', source: { type: 'url', url: 'https://x.example/a.png' } },
      { type: 'input_image', image_url: 'https://x.example/a.png' },
    ),
  },
  {
    feature: 'Picture detail',
    fields: everyUser(
      { type: 'image_url', image_url: { url: 'https://x.example/a.png', detail: 'low' } },
      undefined,
      { type: 'input_image', image_url: 'https://x.example/a.png', detail: 'low' },
    ),
  },
  {
    feature: 'PDF by value',
    fields: everyUser(
      { type: 'file', file: { filename: 'a.pdf', file_data: `data:application/pdf;base64,${pdf}` } },
      { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: pdf } },
      { type: 'input_file', filename: 'a.pdf', file_data: `data:application/pdf;base64,${pdf}` },
    ),
  },
  {
    feature: 'Document by address',
    fields: everyUser(
      undefined,
      { type: 'document', source: { type: 'url', url: 'https://x.example/a.pdf' } },
      { type: 'input_file', file_url: 'https://x.example/a.pdf' },
    ),
  },
  {
    feature: 'Text document',
    fields: everyUser(
      undefined,
      { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'T' } },
      undefined,
    ),
  },
  {
    feature: 'Document with citations',
    fields: everyUser(
      undefined,
      {
        type: 'document',
        source: { type: 'base64', media_type: 'application/pdf', data: pdf },
        citations: { enabled: true },
      },
      undefined,
    ),
  },
  {
    feature: 'Text document with citations',
    fields: everyUser(
      undefined,
      {
        type: 'document',
        source: { type: 'text', media_type: 'text/plain', data: 'T' },
        citations: { enabled: true },
      },
      undefined,
    ),
  },
  {
    feature: 'Search result',
    fields: everyUser(
      undefined,
      {
        type: 'search_result',
        title: 'T',
        source: 'https://x.example',
        content: [{ type: 'text', text: 'C' }],
      },
      undefined,
    ),
  },
  {
    feature: 'Uploaded file',
    fields: everyUser(
      { type: 'file', file: { file_id: 'file_1' } },
      { type: 'document', source: uploadedFile },
      { type: 'input_file', file_id: 'file_1' },
    ),
  },
  {
    feature: 'Audio',
    fields: everyUser({ type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } }, undefined, {
      type: 'input_audio',
      input_audio: { data: 'UklGRg==', format: 'wav' },
    }),
  },
  {
    feature: 'Unknown content',
    fields: everyUser(
      { type: 'video', video: 'x' },
      { type: 'video', video: 'x' },
      { type: 'video', video: 'x' },
    ),
  },
  { feature: 'Functions', fields: tools },
  {
    feature: 'Strict function',
    fields: everywhere(
      { tools: [{ type: 'function', function: { name: 'look', parameters: schema, strict: true } }] },
      { tools: [{ ...messagesTool, strict: true }] },
      { tools: [{ ...responsesTool, strict: true }] },
    ),
  },
  {
    feature: 'Tools with plain text',
    fields: {
      chat: { tools: [{ type: 'custom', custom: customTool }] },
      responses: { tools: [{ type: 'custom', ...customTool }] },
    },
  },
  {
    feature: 'Tools in a namespace',
    fields: responses({ tools: [{ type: 'namespace', name: 'files', tools: [responsesTool] }] }),
  },
  {
    feature: "Supplier's own tools",
    fields: {
      messages: { tools: [messagesTool, { type: 'web_search_20250305', name: 'web_search' }] },
      responses: { tools: [responsesTool, { type: 'web_search' }] },
    },
  },
  ...toolProbes,
  { feature: 'Tools loaded later', fields: messages({ tools: [{ ...messagesTool, defer_loading: true }] }) },
  {
    feature: 'Choice: required',
    fields: withTools({
      chat: { tool_choice: 'required' },
      messages: { tool_choice: { type: 'any' } },
      responses: { tool_choice: 'required' },
    }),
  },
  {
    feature: 'Choice: none',
    fields: withTools({
      chat: { tool_choice: 'none' },
      messages: { tool_choice: { type: 'none' } },
      responses: { tool_choice: 'none' },
    }),
  },
  {
    feature: 'Choice: one tool',
    fields: withTools({
      chat: { tool_choice: { type: 'function', function: { name: 'look' } } },
      messages: { tool_choice: { type: 'tool', name: 'look' } },
      responses: { tool_choice: { type: 'function', name: 'look' } },
    }),
  },
  {
    feature: 'Choice: some tools',
    fields: withTools({
      chat: {
        tool_choice: {
          type: 'allowed_tools',
          allowed_tools: { mode: 'auto', tools: [{ type: 'function', function: { name: 'look' } }] },
        },
      },
      responses: {
        tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'look' }] },
      },
    }),
  },
  {
    feature: 'One call at a time',
    fields: withTools({
      chat: { parallel_tool_calls: false },
      messages: { tool_choice: { type: 'auto', disable_parallel_tool_use: true } },
      responses: { parallel_tool_calls: false },
    }),
  },
  {
    feature: 'Tool result',
    fields: everywhere(chatRound({ content: 'R' }), messagesRound({ content: 'R' }), responsesRound('R')),
  },
  { feature: 'Failed tool result', fields: messages(messagesRound({ content: 'R', is_error: true })) },
  {
    feature: 'Picture in a tool result',
    fields: {
      messages: messagesRound({ content: [messagesPicture] }),
      responses: responsesRound([responsesPicture]),
    },
  },
  {
    feature: 'Tool reference in a result',
    fields: messages(messagesRound({ content: [{ type: 'tool_reference', tool_name: 'look' }] })),
  },
  {
    feature: 'Earlier reasoning',
    fields: everywhere(
      { messages: [hello, { role: 'assistant', content: 'A', reasoning_content: 'Hm.' }, hello] },
      messagesRound({ content: 'R' }, [{ type: 'thinking', thinking: 'Hm.', signature: 'c2ln' }]),
      responsesRound('R', [
        { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm.' }], encrypted_content: 'ZW5j' },
      ]),
    ),
  },
  {
    feature: 'JSON schema',
    fields: everywhere(
      { response_format: { type: 'json_schema', json_schema: { name: 'x', schema } } },
      { output_config: { format: { type: 'json_schema', schema } } },
      { text: { format: { type: 'json_schema', name: 'x', schema } } },
    ),
  },
  {
    feature: 'JSON schema that is open',
    fields: {
      chat: { response_format: { type: 'json_schema', json_schema: { name: 'x', schema: looseSchema } } },
      responses: { text: { format: { type: 'json_schema', name: 'x', schema: looseSchema } } },
    },
  },
  {
    feature: 'Any JSON',
    fields: {
      chat: { response_format: { type: 'json_object' } },
      responses: { text: { format: { type: 'json_object' } } },
    },
  },
  {
    feature: 'Effort',
    fields: everywhere(
      { reasoning_effort: 'low' },
      { output_config: { effort: 'low' } },
      { reasoning: { effort: 'low' } },
    ),
  },
  {
    feature: 'Highest effort',
    fields: everywhere(
      { reasoning_effort: 'max' },
      { output_config: { effort: 'max' } },
      { reasoning: { effort: 'max' } },
    ),
  },
  {
    feature: 'Thinking with a budget',
    fields: messages({ thinking: { type: 'enabled', budget_tokens: 2000 } }),
  },
  { feature: 'Adaptive thinking', fields: messages({ thinking: { type: 'adaptive' } }) },
  { feature: 'Thinking between tools', fields: messages({ thinking: { type: 'between_tools' } }) },
  {
    feature: 'Display of the thinking',
    fields: messages({ thinking: { type: 'adaptive', display: 'omitted' } }),
  },
  {
    feature: 'No thinking',
    fields: everywhere(
      { reasoning_effort: 'none' },
      { thinking: { type: 'disabled' } },
      { reasoning: { effort: 'none' } },
    ),
  },
  { feature: 'Summary of the reasoning', fields: responses({ reasoning: { summary: 'auto' } }) },
  { feature: 'Mode of the reasoning', fields: responses({ reasoning: { mode: 'pro' } }) },
  { feature: 'Context of the reasoning', fields: responses({ reasoning: { context: 'all_turns' } }) },
  { feature: 'Verbosity', fields: { chat: { verbosity: 'low' }, responses: { text: { verbosity: 'low' } } } },
  {
    feature: 'Output limit',
    fields: everywhere({ max_completion_tokens: 99 }, { max_tokens: 99 }, { max_output_tokens: 99 }),
  },
  {
    feature: 'Temperature',
    fields: everywhere({ temperature: 0.5 }, { temperature: 0.5 }, { temperature: 0.5 }),
  },
  { feature: 'Temperature above 1', fields: openai({ temperature: 1.5 }) },
  { feature: 'Top p', fields: everywhere({ top_p: 0.5 }, { top_p: 0.5 }, { top_p: 0.5 }) },
  { feature: 'Top k', fields: messages({ top_k: 5 }) },
  { feature: 'Stop sequences', fields: { chat: { stop: 'END' }, messages: { stop_sequences: ['END'] } } },
  { feature: 'Five stop sequences', fields: messages({ stop_sequences: ['a', 'b', 'c', 'd', 'e'] }) },
  { feature: 'Seed', fields: chat({ seed: 1 }) },
  { feature: 'User', fields: everywhere({ user: 'u' }, { metadata: { user_id: 'u' } }, { user: 'u' }) },
  { feature: 'Metadata', fields: openai({ metadata: { a: 'b' } }) },
  {
    feature: 'Cache marks',
    fields: messages({ system: [{ type: 'text', text: 'S', cache_control: { type: 'ephemeral' } }] }),
  },
  { feature: 'Cache key', fields: openai({ prompt_cache_key: 'k' }) },
  {
    feature: 'Service tier',
    fields: everywhere({ service_tier: 'flex' }, { service_tier: 'auto' }, { service_tier: 'flex' }),
  },
  { feature: 'Log probabilities', fields: chat({ logprobs: true }) },
  {
    feature: 'Most likely tokens',
    fields: { chat: { logprobs: true, top_logprobs: 3 }, responses: { top_logprobs: 3 } },
  },
  { feature: 'Predicted output', fields: chat({ prediction: { type: 'content', content: 'P' } }) },
  { feature: 'Identifier for safety', fields: openai({ safety_identifier: 's' }) },
  { feature: 'Truncation', fields: responses({ truncation: 'auto' }) },
  {
    feature: 'Phase of a turn',
    fields: responses({
      input: [hello, { type: 'message', role: 'assistant', phase: 'commentary', content: 'A' }, hello],
    }),
  },
  {
    feature: "Line for a vendor's books",
    fields: messages({ system: 'x-anthropic-billing-header: cc_version=1; cch=0;\nS' }),
  },
  { feature: 'Several answers', fields: chat({ n: 2 }) },
  { feature: 'Penalties and biases', fields: chat({ presence_penalty: 1 }) },
  { feature: 'Spoken answers', fields: chat({ modalities: ['text', 'audio'] }) },
  { feature: 'Functions of the old kind', fields: chat({ functions: [{ name: 'look' }] }) },
  { feature: 'Context management', fields: messages({ context_management: { edits: [] } }) },
  { feature: 'Threads', fields: messages({ thread: { type: 'create' } }) },
  { feature: 'Containers', fields: messages({ container: 'c' }) },
  {
    feature: 'Remote tool servers',
    fields: messages({ mcp_servers: [{ type: 'url', url: 'https://x.example', name: 'x' }] }),
  },
  { feature: 'Region of inference', fields: messages({ inference_geo: 'us' }) },
  { feature: 'Earlier response by identifier', fields: responses({ previous_response_id: 'resp_1' }) },
  { feature: 'Item by identifier', fields: responses({ input: [{ type: 'item_reference', id: 'msg_1' }] }) },
  { feature: 'Answer later', fields: responses({ background: true }) },
  { feature: 'Keep the answer at the supplier', fields: { chat: { store: true } } },
  { feature: 'Do not keep the answer', fields: responses({ store: false }), fulfilled: true },
  { feature: 'Further output', fields: responses({ include: ['reasoning.encrypted_content'] }) },
  { feature: 'Unknown field', fields: everywhere({ brand_new: 1 }, { brand_new: 1 }, { brand_new: 1 }) },
];
