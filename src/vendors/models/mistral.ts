import type { Effort, ModelFacts } from '../facts';
import { CHECKED } from './checked';

const CATALOGUE = 'npm:@ai-sdk/mistral@4.0.87 (model catalogue, from https://api.mistral.ai/v1/models)';

const mistral = (
  id: string,
  rest: Partial<ModelFacts>,
  efforts?: readonly [Effort, ...Effort[]],
): ModelFacts => ({
  id,
  vendor: 'mistral',
  ...(efforts && {
    thinking: { efforts, unasked: efforts[0] !== 'none', canStop: efforts[0] === 'none' },
  }),
  // 1,024 pixels in squares of 16, and a mark at the end of each row.
  pictures: { kind: 'flat', tokens: 64 * 65 },
  chat: 'free',
  source: CATALOGUE,
  checked: CHECKED,
  ...rest,
});

export const mistralModels: readonly ModelFacts[] = [
  mistral(
    'mistral-large-4',
    {
      aliases: ['mistral-large-4-0'],
      window: 1_048_576,
      source: 'https://docs.mistral.ai/models/mistral-large-4-0',
    },
    ['low', 'medium', 'high'],
  ),
  mistral('mistral-large-2512', { aliases: ['mistral-large-latest'], window: 262_144 }),
  mistral(
    'mistral-medium-2604',
    {
      aliases: [
        'mistral-medium-latest',
        'mistral-medium-3-5',
        'mistral-medium-3.5',
        'mistral-medium-3',
        'mistral-medium',
      ],
      window: 262_144,
      source: 'https://docs.mistral.ai/models/model-cards/mistral-medium-3-5-26-04',
    },
    ['none', 'high'],
  ),
  mistral('mistral-small-2603', { aliases: ['mistral-small-latest'], window: 256_000 }, ['none', 'high']),
  mistral('codestral-2508', { aliases: ['codestral-latest'], window: 256_000 }),
  mistral('ministral-14b-2512', { aliases: ['ministral-14b-latest'] }),
  mistral('ministral-8b-2512', { aliases: ['ministral-8b-latest'] }),
  mistral('ministral-3b-2512', { aliases: ['ministral-3b-latest'] }),
  ...['mistral-embed', 'codestral-embed'].map((id): ModelFacts => ({
    id,
    vendor: 'mistral',
    source: CATALOGUE,
    checked: CHECKED,
  })),
];
