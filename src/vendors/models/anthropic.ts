import type { Effort, ModelFacts, PictureFacts } from '../facts';
import { CHECKED } from './checked';

const SITE = 'https://platform.claude.com/docs/en/models';
const SKILL = 'https://github.com/anthropics/skills/blob/main/skills/claude-api/shared/model-migration.md';
/** Ids of Bedrock, as in the typings of `@ai-sdk/amazon-bedrock` 5.0.101. */
const bedrock = (name: string): readonly string[] => [`anthropic.${name}`, `us.anthropic.${name}`];

const upToXhigh: readonly Effort[] = ['low', 'medium', 'high', 'xhigh', 'max'];
const upToMax: readonly Effort[] = ['low', 'medium', 'high', 'max'];

/** Larger images are scaled down first: https://platform.claude.com/docs/en/build-with-claude/vision. */
const picturesBefore47: PictureFacts = { kind: 'squares', side: 27, most: 1_600 };
const picturesSince47: PictureFacts = { kind: 'squares', side: 28, most: 4_784 };

type AnthropicModelRow = Pick<ModelFacts, 'id' | 'source'> & Partial<ModelFacts>;

/** A million tokens of context; no sampling parameters and no prefill. */
const since47 = (row: AnthropicModelRow): ModelFacts => ({
  vendor: 'anthropic',
  window: 1_000_000,
  maxOutput: 128_000,
  sampling: 'refused',
  forcedTools: true,
  prefill: false,
  schema: 'anthropic',
  pictures: picturesSince47,
  checked: CHECKED,
  ...row,
});

/** Always thinks, and binds its thinking to the conversation. */
const since51 = (usual: Effort, row: AnthropicModelRow): ModelFacts =>
  since47({
    thinking: { types: ['adaptive'], efforts: upToXhigh, usual, unasked: true, canStop: false },
    forcedTools: false,
    dropsBlocks: true,
    ...row,
  });

const in46 = (row: AnthropicModelRow): ModelFacts => ({
  vendor: 'anthropic',
  window: 1_000_000,
  maxOutput: 128_000,
  thinking: {
    types: ['adaptive', 'enabled', 'disabled'],
    efforts: upToMax,
    usual: 'high',
    budget: { least: 1_024, most: 127_999 },
    unasked: false,
    canStop: true,
  },
  sampling: 'unless-thinking',
  forcedTools: true,
  prefill: false,
  schema: 'anthropic',
  pictures: picturesBefore47,
  checked: CHECKED,
  ...row,
});

const in45 = (row: AnthropicModelRow, efforts?: readonly Effort[]): ModelFacts => ({
  vendor: 'anthropic',
  window: 200_000,
  // https://docs.claude.com/en/docs/build-with-claude/context-windows: not documented as withdrawn, so it still counts.
  widened: { 'context-1m-2025-08-07': 1_000_000 },
  maxOutput: 64_000,
  thinking: {
    types: ['enabled', 'disabled'],
    ...(efforts && { efforts, usual: 'high' }),
    budget: { least: 1_024, most: 63_999 },
    unasked: false,
    canStop: true,
  },
  sampling: 'unless-thinking',
  forcedTools: true,
  prefill: true,
  schema: 'anthropic',
  pictures: picturesBefore47,
  checked: CHECKED,
  ...row,
});

export const anthropicModels: readonly ModelFacts[] = [
  since51('medium', {
    id: 'claude-opus-5-5',
    aliases: bedrock('claude-opus-5-5'),
    source: `${SITE}/opus-5-5/migration-guide.md`,
  }),
  since51('high', {
    id: 'claude-sonnet-5-5',
    aliases: bedrock('claude-sonnet-5-5'),
    thinking: {
      types: ['adaptive', 'between_tools'],
      efforts: upToXhigh,
      usual: 'high',
      unasked: true,
      canStop: false,
    },
    source: `${SITE}/sonnet-5-5/migration-guide`,
  }),
  since47({
    id: 'claude-haiku-5-5',
    thinking: {
      types: ['adaptive', 'disabled'],
      efforts: upToXhigh,
      usual: 'medium',
      unasked: true,
      canStop: true,
      stopsUpTo: 'high',
    },
    dropsBlocks: true,
    longContext: { above: 100_000, input: 5, output: 5 },
    source: `${SITE}/haiku-5-5/overview.md`,
  }),
  since51('high', { id: 'claude-fable-5-2', source: `${SITE}/fable-5-2/overview` }),
  since51('high', {
    id: 'claude-fable-5-1',
    aliases: [...bedrock('claude-fable-5-1'), 'global.anthropic.claude-fable-5-1'],
    source: `${SITE}/opus-5-5/migration-guide.md`,
  }),
  since51('high', { id: 'claude-mythos-5-2', source: 'npm:@anthropic-ai/sdk@1.14.0 (list of models)' }),
  since51('high', { id: 'claude-mythos-5-1', source: `${SITE}/opus-5-5/migration-guide.md` }),
  since47({
    id: 'claude-opus-5',
    aliases: bedrock('claude-opus-5'),
    thinking: {
      types: ['adaptive', 'disabled'],
      efforts: upToXhigh,
      usual: 'high',
      unasked: true,
      canStop: true,
      stopsUpTo: 'high',
    },
    source: `${SITE}/opus-5/migration-guide`,
  }),
  since47({
    id: 'claude-sonnet-5',
    aliases: [...bedrock('claude-sonnet-5'), 'claude-sonnet-5@default'],
    thinking: {
      types: ['adaptive', 'disabled'],
      efforts: upToXhigh,
      usual: 'high',
      unasked: true,
      canStop: true,
    },
    source: `${SITE}/sonnet-5/migration-guide`,
  }),
  ...['claude-fable-5', 'claude-mythos-5'].map((id) =>
    since47({
      id,
      ...(id === 'claude-fable-5' && { aliases: bedrock(id) }),
      thinking: { types: ['adaptive'], efforts: upToXhigh, usual: 'high', unasked: true, canStop: false },
      source: SKILL,
    }),
  ),
  ...['claude-opus-4-8', 'claude-opus-4-7'].map((id) =>
    since47({
      id,
      aliases: [...bedrock(id), `${id}@default`],
      thinking: {
        types: ['adaptive', 'disabled'],
        efforts: upToXhigh,
        usual: 'high',
        unasked: false,
        canStop: true,
      },
      source: SKILL,
    }),
  ),
  ...['claude-opus-4-6', 'claude-sonnet-4-6'].map((id) =>
    in46({ id, aliases: [...bedrock(`${id}-v1`), `${id}@default`], source: SKILL }),
  ),
  in45(
    {
      id: 'claude-opus-4-5',
      aliases: [
        'claude-opus-4-5-20251101',
        'claude-opus-4-5@20251101',
        ...bedrock('claude-opus-4-5-20251101-v1:0'),
      ],
      ends: '2027-01-22',
      source: 'npm:@anthropic-ai/sdk@1.14.0 (internal/data/deprecated-models)',
    },
    ['low', 'medium', 'high'],
  ),
  in45({
    id: 'claude-sonnet-4-5',
    aliases: [
      'claude-sonnet-4-5-20250929',
      'claude-sonnet-4-5@20250929',
      ...bedrock('claude-sonnet-4-5-20250929-v1:0'),
    ],
    ends: '2026-11-30',
    source: 'npm:@anthropic-ai/sdk@1.14.0 (internal/data/deprecated-models)',
  }),
  in45({
    id: 'claude-haiku-4-5',
    aliases: [
      'claude-haiku-4-5-20251001',
      'claude-haiku-4-5@20251001',
      ...bedrock('claude-haiku-4-5-20251001-v1:0'),
    ],
    source: 'https://github.com/anthropics/skills/blob/main/skills/claude-api/shared/models.md',
  }),
];
