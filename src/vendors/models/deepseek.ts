import type { ModelFacts } from '../facts';
import { CHECKED } from './checked';

const shared = {
  vendor: 'deepseek',
  window: 1_000_000,
  maxOutput: 384_000,
  thinking: {
    types: ['enabled', 'disabled'],
    // Other efforts are accepted and mapped to one of these.
    efforts: ['low', 'high', 'max'],
    usual: 'high',
    unasked: true,
    canStop: true,
  },
  sampling: 'ignored',
  chat: 'free',
  schema: 'none',
  reasoningHistory: true,
  source: 'https://api-docs.deepseek.com/guides/thinking_mode.md',
  checked: CHECKED,
} as const satisfies Omit<ModelFacts, 'id'>;

export const deepseekModels: readonly ModelFacts[] = [
  // https://api-docs.deepseek.com/quick_start/pricing.md: earlier names are served by this model.
  { ...shared, id: 'deepseek-flash', aliases: ['deepseek-v4-flash', 'deepseek-v4-flash-vision-exp'] },
  { ...shared, id: 'deepseek-v4-pro' },
];
