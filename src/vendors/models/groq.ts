import type { ModelFacts } from '../facts';
import { CHECKED } from './checked';

/** https://console.groq.com/docs/openai: refused with 400. */
const refusedFields = ['logprobs', 'top_logprobs', 'logit_bias'];

const hosted = (id: string, rest: Partial<ModelFacts>): ModelFacts => ({
  id,
  vendor: 'groq',
  chat: 'free',
  chatRefuses: refusedFields,
  source: 'https://console.groq.com/docs/models.md',
  checked: CHECKED,
  ...rest,
});

export const groqModels: readonly ModelFacts[] = [
  ...['openai/gpt-oss-120b', 'openai/gpt-oss-20b'].map((id) =>
    hosted(id, {
      window: 131_072,
      maxOutput: 65_536,
      thinking: { efforts: ['low', 'medium', 'high'], unasked: true, canStop: false },
    }),
  ),
  hosted('qwen/qwen3.6-27b', {
    thinking: { efforts: ['none'], unasked: true, canStop: true },
    source: 'npm:@ai-sdk/groq@4.0.84 (model catalogue)',
  }),
  ...['groq/compound', 'groq/compound-mini'].map((id) => hosted(id, { window: 131_072, maxOutput: 8_192 })),
  ...['whisper-large-v3', 'whisper-large-v3-turbo'].map((id): ModelFacts => ({
    id,
    vendor: 'groq',
    source: 'https://console.groq.com/docs/models.md',
    checked: CHECKED,
  })),
];
