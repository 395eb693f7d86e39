/** A model of Anthropic's behaves so, as its documents say (read on 26 November 2026). */
export interface ClaudeModel {
  readonly vendor: 'anthropic';
  readonly id: string;
  /** The values of `thinking.type` that it takes. */
  readonly thinking: readonly string[];
  /** It thinks where the request does not say. */
  readonly thinksUnasked: boolean;
  /** Thinking is only switched off beside an effort up to `high`. */
  readonly capsEffort: boolean;
  /** None: it knows no effort. */
  readonly efforts: readonly string[];
  readonly takesSampling: boolean;
  readonly takesForcedTools: boolean;
  readonly takesPrefill: boolean;
  readonly mostOutput: number;
  /** The most tokens that it reads. */
  readonly window: number;
  /** Its thoughts hold only in the conversation they were thought in. */
  readonly bindsThinking: boolean;
  /** Its thoughts are shown on demand alone. */
  readonly hidesThinking: boolean;
}

/**
 * Each group of models was read from these:
 * - https://platform.claude.com/docs/en/models/opus-5-5/migration-guide.md (Opus 5.5, the newest)
 * - https://platform.claude.com/docs/en/models/sonnet-5-5/migration-guide
 * - https://docs.aws.amazon.com/bedrock/latest/userguide/model-card-anthropic-claude-haiku-5-5.md
 * - https://platform.claude.com/docs/en/models/opus-5/migration-guide
 * - https://github.com/anthropics/skills/blob/main/skills/claude-api/shared/model-migration.md (4.6 to 4.8; of 1 July 2026)
 */
const all = ['low', 'medium', 'high', 'xhigh', 'max'];

const newest: Omit<ClaudeModel, 'id'> = {
  vendor: 'anthropic',
  thinking: ['adaptive'],
  thinksUnasked: true,
  capsEffort: false,
  efforts: all,
  takesSampling: false,
  takesForcedTools: false,
  takesPrefill: false,
  mostOutput: 128_000,
  window: 1_000_000,
  bindsThinking: true,
  hidesThinking: true,
};
const five: Omit<ClaudeModel, 'id'> = {
  ...newest,
  thinking: ['adaptive', 'disabled'],
  takesForcedTools: true,
  bindsThinking: false,
};
const four7: Omit<ClaudeModel, 'id'> = { ...five, thinksUnasked: false };
const four6: Omit<ClaudeModel, 'id'> = {
  ...four7,
  thinking: ['adaptive', 'enabled', 'disabled'],
  efforts: ['low', 'medium', 'high', 'max'],
  takesSampling: true,
  hidesThinking: false,
};
const four5: Omit<ClaudeModel, 'id'> = {
  ...four6,
  thinking: ['enabled', 'disabled'],
  efforts: [],
  takesPrefill: true,
  mostOutput: 64_000,
  window: 200_000,
};

const families: readonly (readonly [readonly string[], Omit<ClaudeModel, 'id'>])[] = [
  [
    ['claude-opus-5-5', 'claude-fable-5-1', 'claude-fable-5-2', 'claude-mythos-5-1', 'claude-mythos-5-2'],
    newest,
  ],
  [['claude-sonnet-5-5'], { ...newest, thinking: ['adaptive', 'between_tools'] }],
  [['claude-haiku-5-5'], { ...five, bindsThinking: true, capsEffort: true }],
  [['claude-opus-5'], { ...five, capsEffort: true }],
  [['claude-sonnet-5'], five],
  [['claude-fable-5', 'claude-mythos-5'], { ...five, thinking: ['adaptive'] }],
  [['claude-opus-4-8', 'claude-opus-4-7'], four7],
  [['claude-opus-4-6', 'claude-sonnet-4-6'], four6],
  [['claude-opus-4-5', 'claude-opus-4-5-20251101'], { ...four5, efforts: ['low', 'medium', 'high'] }],
  [
    ['claude-sonnet-4-5', 'claude-sonnet-4-5-20250929', 'claude-haiku-4-5', 'claude-haiku-4-5-20251001'],
    four5,
  ],
];

export const claudeModels: readonly ClaudeModel[] = families.flatMap(([ids, rest]) =>
  ids.map((id) => ({ ...rest, id })),
);

/** The model thinks about this request. */
export function claudeThinks(model: ClaudeModel, type: unknown): boolean {
  if (type === 'disabled') return false;
  return type === undefined ? model.thinksUnasked : true;
}
