const hello = [{ role: 'user', content: 'Hello' }];

/** A body that works, by operation; MODEL stands for a model of the catalogue. */
export const examples: Readonly<Record<string, unknown>> = {
  createChatCompletion: { model: 'MODEL', messages: hello },
  createMessage: { model: 'MODEL', max_tokens: 200, messages: hello },
  countTokens: { model: 'MODEL', messages: hello },
  createResponse: { model: 'MODEL', input: 'Hello' },
  createNativeResponse: { model: 'MODEL', stream: true, input: hello },
  createCompletion: { model: 'MODEL', prompt: 'Once upon a time', max_tokens: 50 },
  createEmbeddings: { model: 'MODEL', input: ['one text', 'another'] },
  rerank: { model: 'MODEL', query: 'capital of France', documents: ['Paris', 'Berlin'] },
  rerankV2: { model: 'MODEL', query: 'capital of France', documents: ['Paris', 'Berlin'] },
  speak: { model: 'MODEL', input: 'Hello', response_format: 'mp3' },
  createImage: { model: 'MODEL', prompt: 'A switchboard' },
  moderate: { model: 'MODEL', input: 'Hello' },
  createKey: { name: 'my first key', budget_limit: 5, budget_period: 'monthly', allowed_regions: 'eu' },
  changeKey: { budget_limit: 10 },
  rotateKey: { grace_seconds: 3600 },
};
