import type { ModelFacts } from '../facts';
import { CHECKED } from './checked';

const DOCS = 'https://docs.cohere.com/docs';

const command = (id: string, window: number, maxOutput: number, rest: Partial<ModelFacts>): ModelFacts => ({
  id,
  vendor: 'cohere',
  window,
  maxOutput,
  source: `${DOCS}/models`,
  checked: CHECKED,
  ...rest,
});

const alwaysThinking = {
  thinking: { types: ['enabled', 'disabled'], unasked: true, canStop: true },
} as const;

export const cohereModels: readonly ModelFacts[] = [
  command('command-a-plus-05-2026', 128_000, 64_000, { ...alwaysThinking, source: `${DOCS}/command-a-plus` }),
  command('command-a-reasoning-08-2025', 256_000, 32_000, {
    ...alwaysThinking,
    source: `${DOCS}/command-a-reasoning`,
  }),
  command('command-a-03-2025', 256_000, 8_000, { source: `${DOCS}/command-a` }),
  command('command-a-vision-07-2025', 128_000, 8_000, { source: `${DOCS}/command-a-vision` }),
  command('command-r7b-12-2024', 128_000, 4_000, {}),
  command('command-r-plus-08-2024', 128_000, 4_000, {}),
  command('command-r-08-2024', 128_000, 4_000, {}),
];
