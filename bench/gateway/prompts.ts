const sentence = 'The harbour office keeps a ledger of every crossing, its weather and its passengers. ';

/** Formatted as a client library sends it. */
const chat = (model: string, content: string, extraFields: object): object => ({
  model,
  messages: [
    { role: 'system', content: 'You answer questions about ferries, briefly.' },
    { role: 'user', content },
  ],
  temperature: 0.7,
  max_tokens: 400,
  ...extraFields,
});

export const smallPrompt = chat(
  'bench-chat',
  'When does the next ferry leave, and how long does it take?',
  {},
);

export const largePrompt = chat('bench-chat', sentence.repeat(Math.ceil((32 * 1_024) / sentence.length)), {});

const streamRequest = (model: string, extraFields: object): object =>
  chat(model, 'Tell me the story of the harbour.', { stream: true, ...extraFields });

/** A caller that requests usage gets the supplier's bytes unchanged. */
export const stream = streamRequest('bench-chat', { stream_options: { include_usage: true } });

/** A caller that does not request usage must not get it, although the gateway has to request it. */
export const streamWithoutUsage = streamRequest('bench-chat', {});

export const translatedStream = streamRequest('bench-messages', { stream_options: { include_usage: true } });
