/** Behaviour of an Anthropic model, by its documentation (read on 26 November 2026). */
export interface ClaudeModel {
  readonly vendor: 'anthropic';
  readonly id: string;
  /** Accepted values of `thinking.type`. */
  readonly thinking: readonly string[];
  /** Thinks if the request does not specify it. */
  readonly thinksByDefault: boolean;
  /** Thinking can only be disabled with an effort up to `high`. */
  readonly capsEffort: boolean;
  /** Empty if the model has no effort setting. */
  readonly efforts: readonly string[];
  readonly takesSampling: boolean;
  readonly takesForcedTools: boolean;
  readonly takesPrefill: boolean;
  readonly maxOutputTokens: number;
  /** Context window in tokens. */
  readonly window: number;
  /** Thinking is only valid in the conversation it was created in. */
  readonly bindsThinking: boolean;
  /** Thinking is only returned on request. */
  readonly hidesThinking: boolean;
}

/**
 * Sources of each group of models:
 * - https://platform.claude.com/docs/en/models/opus-5-5/migration-guide.md (Opus 5.5, the newest)
 * - https://platform.claude.com/docs/en/models/sonnet-5-5/migration-guide
 * - https://docs.aws.amazon.com/bedrock/latest/userguide/model-card-anthropic-claude-haiku-5-5.md
 * - https://platform.claude.com/docs/en/models/opus-5/migration-guide
 * - https://github.com/anthropics/skills/blob/main/skills/claude-api/shared/model-migration.md (4.6 to 4.8; of 1 July
 * 2026)
 */
const allEfforts = ['low', 'medium', 'high', 'xhigh', 'max'];

const newest: Omit<ClaudeModel, 'id'> = {
  vendor: 'anthropic',
  thinking: ['adaptive'],
  thinksByDefault: true,
  capsEffort: false,
  efforts: allEfforts,
  takesSampling: false,
  takesForcedTools: false,
  takesPrefill: false,
  maxOutputTokens: 128_000,
  window: 1_000_000,
  bindsThinking: true,
  hidesThinking: true,
};
const version5: Omit<ClaudeModel, 'id'> = {
  ...newest,
  thinking: ['adaptive', 'disabled'],
  takesForcedTools: true,
  bindsThinking: false,
};
const version47: Omit<ClaudeModel, 'id'> = { ...version5, thinksByDefault: false };
const version46: Omit<ClaudeModel, 'id'> = {
  ...version47,
  thinking: ['adaptive', 'enabled', 'disabled'],
  efforts: ['low', 'medium', 'high', 'max'],
  takesSampling: true,
  hidesThinking: false,
};
const version45: Omit<ClaudeModel, 'id'> = {
  ...version46,
  thinking: ['enabled', 'disabled'],
  efforts: [],
  takesPrefill: true,
  maxOutputTokens: 64_000,
  window: 200_000,
};

const families: readonly (readonly [readonly string[], Omit<ClaudeModel, 'id'>])[] = [
  [
    ['claude-opus-5-5', 'claude-fable-5-1', 'claude-fable-5-2', 'claude-mythos-5-1', 'claude-mythos-5-2'],
    newest,
  ],
  [['claude-sonnet-5-5'], { ...newest, thinking: ['adaptive', 'between_tools'] }],
  [['claude-haiku-5-5'], { ...version5, bindsThinking: true, capsEffort: true }],
  [['claude-opus-5'], { ...version5, capsEffort: true }],
  [['claude-sonnet-5'], version5],
  [['claude-fable-5', 'claude-mythos-5'], { ...version5, thinking: ['adaptive'] }],
  [['claude-opus-4-8', 'claude-opus-4-7'], version47],
  [['claude-opus-4-6', 'claude-sonnet-4-6'], version46],
  [['claude-opus-4-5', 'claude-opus-4-5-20251101'], { ...version45, efforts: ['low', 'medium', 'high'] }],
  [
    ['claude-sonnet-4-5', 'claude-sonnet-4-5-20250929', 'claude-haiku-4-5', 'claude-haiku-4-5-20251001'],
    version45,
  ],
];

export const claudeModels: readonly ClaudeModel[] = families.flatMap(([ids, rest]) =>
  ids.map((id) => ({ ...rest, id })),
);

/** Whether the model thinks for this request. */
export function claudeThinks(model: ClaudeModel, type: unknown): boolean {
  if (type === 'disabled') return false;
  return type === undefined ? model.thinksByDefault : true;
}
