/** A simulated supplier returns one set of figures in the format of each vendor, streaming or not. */

export interface UsageFigures {
  readonly text: string;
  readonly input: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly cacheWriteLong: number;
  readonly audioInput: number;
  readonly image: number;
  readonly output: number;
  readonly reasoning: number;
  readonly audioOutput: number;
  readonly imageOutput: number;
  /** Reasoning is counted within the output, next to it, or only in the grand total. */
  readonly thoughts: 'inside' | 'beside' | 'total';
  readonly served: Readonly<Record<string, string>>;
  readonly searches: number;
  readonly fileSearches: number;
  readonly containers: number;
}

export type BilledVendor = 'chat' | 'responses' | 'messages' | 'gemini';

const event = (data: object): string => {
  const name = 'type' in data ? `event: ${String(data.type)}\n` : '';
  return `${name}data: ${JSON.stringify(data)}\n\n`;
};
const range = (length: number): number[] => Array.from({ length }, (_, index) => index);
const halves = (text: string): [string, string] => [text.slice(0, 5), text.slice(5)];

function totals(figures: UsageFigures, input: string, output: string): object {
  const { thoughts, reasoning, cacheRead, cacheWrite, audioInput, image, audioOutput, imageOutput } = figures;
  const inputTokens = figures.input + cacheRead + cacheWrite + audioInput + image;
  const outputTokens = figures.output + audioOutput + imageOutput + (thoughts === 'inside' ? reasoning : 0);
  return {
    [input]: inputTokens,
    [output]: outputTokens,
    total_tokens: inputTokens + outputTokens + (thoughts === 'inside' ? 0 : reasoning),
    [`${input}_details`]: {
      cached_tokens: cacheRead,
      cache_write_tokens: cacheWrite,
      audio_tokens: audioInput,
      image_tokens: image,
    },
    [`${output}_details`]: {
      ...(thoughts === 'total' ? {} : { reasoning_tokens: reasoning }),
      audio_tokens: audioOutput,
      image_tokens: imageOutput,
    },
  };
}

function chat(figures: UsageFigures, stream: boolean): string {
  const usage = totals(figures, 'prompt_tokens', 'completion_tokens');
  const base = { id: 'chatcmpl-1', created: 1, model: 'vendor-model', ...figures.served };
  if (!stream) {
    const message = { role: 'assistant', content: figures.text };
    const choices = [{ index: 0, message, finish_reason: 'stop' }];
    return JSON.stringify({ ...base, object: 'chat.completion', choices, usage });
  }
  const chunk = { ...base, object: 'chat.completion.chunk' };
  const [first, rest] = halves(figures.text);
  return [
    { ...chunk, choices: [{ index: 0, delta: { role: 'assistant', content: first }, finish_reason: null }] },
    { ...chunk, choices: [{ index: 0, delta: { content: rest }, finish_reason: null }] },
    { ...chunk, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
    { ...chunk, choices: [], usage },
  ]
    .map(event)
    .concat('data: [DONE]\n\n')
    .join('');
}

function responses(figures: UsageFigures, stream: boolean): string {
  const { text, searches, fileSearches, containers } = figures;
  const items = [
    ...range(searches).map((at) => ({
      id: `ws_${at}`,
      type: 'web_search_call',
      status: 'completed',
      action: { type: 'search', query: `query ${at}` },
    })),
    // Opening a search result is not a search.
    ...range(searches).map((at) => ({
      id: `wp_${at}`,
      type: 'web_search_call',
      status: 'completed',
      action: { type: 'open_page', url: 'https://pages.example/' },
    })),
    ...range(fileSearches).map((at) => ({
      id: `fs_${at}`,
      type: 'file_search_call',
      status: 'completed',
      queries: ['x'],
      results: null,
    })),
    // Two runs in each container: only the container is billed.
    ...range(2 * containers).map((at) => ({
      id: `ci_${at}`,
      type: 'code_interpreter_call',
      status: 'completed',
      code: '1',
      container_id: `cntr_${at >> 1}`,
      outputs: null,
    })),
    {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text, annotations: [] }],
    },
  ];
  const base = { id: 'resp_1', object: 'response', created_at: 1, model: 'vendor-model' };
  const usage = totals(figures, 'input_tokens', 'output_tokens');
  const completeResponse = { ...base, status: 'completed', output: items, usage, ...figures.served };
  if (!stream) return JSON.stringify(completeResponse);
  const last = items.length - 1;
  const textPart = { item_id: 'msg_1', output_index: last, content_index: 0 };
  const events = [
    { type: 'response.created', response: { ...base, status: 'in_progress', output: [], usage: null } },
    ...items.flatMap((item, at) => [
      {
        type: 'response.output_item.added',
        output_index: at,
        item: { ...item, status: 'in_progress', ...(at === last ? { content: [] } : {}) },
      },
      ...(at === last
        ? [
            {
              type: 'response.content_part.added',
              ...textPart,
              part: { type: 'output_text', text: '', annotations: [] },
            },
            ...halves(text).map((delta) => ({ type: 'response.output_text.delta', ...textPart, delta })),
            { type: 'response.output_text.done', ...textPart, text },
          ]
        : []),
      { type: 'response.output_item.done', output_index: at, item },
    ]),
    { type: 'response.completed', response: completeResponse },
  ];
  return events.map((data, at) => event({ ...data, sequence_number: at })).join('');
}

function messages(figures: UsageFigures, stream: boolean): string {
  const { input, cacheRead, cacheWrite, cacheWriteLong, output, reasoning, searches, containers } = figures;
  const inputUsage = {
    input_tokens: input,
    cache_read_input_tokens: cacheRead,
    cache_creation_input_tokens: cacheWrite + cacheWriteLong,
    cache_creation: { ephemeral_5m_input_tokens: cacheWrite, ephemeral_1h_input_tokens: cacheWriteLong },
    ...figures.served,
  };
  const outputUsage = {
    output_tokens: output + reasoning,
    output_tokens_details: { thinking_tokens: reasoning },
    ...(searches === 0 ? {} : { server_tool_use: { web_search_requests: searches } }),
  };
  const tools = [
    ...range(searches).map((at) => ({ name: 'web_search', id: `srvtoolu_w${at}` })),
    // Runs share the container of the request.
    ...range(2 * containers).map((at) => ({ name: 'code_execution', id: `srvtoolu_c${at}` })),
  ].map((tool) => ({ type: 'server_tool_use', ...tool, input: {} }));
  const base = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'vendor-model',
    stop_sequence: null,
  };
  if (!stream) {
    const content = [...tools, { type: 'text', text: figures.text }];
    return JSON.stringify({
      ...base,
      content,
      stop_reason: 'end_turn',
      usage: { ...inputUsage, ...outputUsage },
    });
  }
  const at = tools.length;
  return [
    {
      type: 'message_start',
      message: { ...base, content: [], stop_reason: null, usage: { ...inputUsage, output_tokens: 1 } },
    },
    ...tools.flatMap((block, index) => [
      { type: 'content_block_start', index, content_block: block },
      { type: 'content_block_stop', index },
    ]),
    { type: 'content_block_start', index: at, content_block: { type: 'text', text: '' } },
    ...halves(figures.text).map((text) => ({
      type: 'content_block_delta',
      index: at,
      delta: { type: 'text_delta', text },
    })),
    { type: 'content_block_stop', index: at },
    { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: outputUsage },
    { type: 'message_stop' },
  ]
    .map(event)
    .join('');
}

/** Grounding queries appear next to the text of a response, and one of them appears twice. */
function gemini(figures: UsageFigures, stream: boolean): string {
  const { input, cacheRead, audioInput, image, output, imageOutput, reasoning, searches } = figures;
  const details = (list: readonly (readonly [string, number])[]): object[] =>
    list.filter(([, tokens]) => tokens > 0).map(([modality, tokenCount]) => ({ modality, tokenCount }));
  const inputTokens = input + cacheRead + audioInput + image;
  const usageMetadata = {
    promptTokenCount: inputTokens,
    cachedContentTokenCount: cacheRead,
    candidatesTokenCount: output + imageOutput,
    thoughtsTokenCount: reasoning,
    totalTokenCount: inputTokens + output + imageOutput + reasoning,
    promptTokensDetails: details([
      ['TEXT', input + cacheRead],
      ['AUDIO', audioInput],
      ['IMAGE', image],
    ]),
    candidatesTokensDetails: details([
      ['TEXT', output],
      ['IMAGE', imageOutput],
    ]),
  };
  const queries = range(searches).map((at) => `query ${at}`);
  const grounding =
    searches === 0 ? {} : { groundingMetadata: { webSearchQueries: [...queries, 'query 0'] } };
  const part = (text: string, rest: object = {}): object => ({
    candidates: [{ index: 0, content: { role: 'model', parts: [{ text }] }, ...rest }],
    modelVersion: 'vendor-model',
  });
  const ending = { finishReason: 'STOP', ...grounding };
  if (!stream) return JSON.stringify({ ...part(figures.text, ending), usageMetadata });
  const [first, rest] = halves(figures.text);
  const startUsage = { ...usageMetadata, candidatesTokenCount: 1, candidatesTokensDetails: [] };
  return [
    { ...part(first), usageMetadata: startUsage },
    { ...part(rest, ending), usageMetadata },
  ]
    .map(event)
    .join('');
}

export const answerOf: Readonly<Record<BilledVendor, (figures: UsageFigures, stream: boolean) => string>> = {
  chat,
  responses,
  messages,
  gemini,
};
