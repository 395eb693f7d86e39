const sentence = 'The harbour office keeps a ledger of every crossing, its weather and its passengers. ';

/** As a client library sends it. */
const chat = (model: string, content: string, more: object): object => ({
  model,
  messages: [
    { role: 'system', content: 'You answer questions about ferries, briefly.' },
    { role: 'user', content },
  ],
  temperature: 0.7,
  max_tokens: 400,
  ...more,
});

export const smallPrompt = chat(
  'bench-chat',
  'When does the next ferry leave, and how long does it take?',
  {},
);

export const largePrompt = chat('bench-chat', sentence.repeat(Math.ceil((32 * 1_024) / sentence.length)), {});

const streamed = (model: string, more: object): object =>
  chat(model, 'Tell me the story of the harbour.', { stream: true, ...more });

/** A caller who asks for the usage gets the supplier's bytes as they are. */
export const stream = streamed('bench-chat', { stream_options: { include_usage: true } });

/** A caller who does not must not get it, although the gateway has to ask for it. */
export const streamWithoutUsage = streamed('bench-chat', {});

export const translatedStream = streamed('bench-messages', { stream_options: { include_usage: true } });
