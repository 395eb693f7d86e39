/** Behaviour of an OpenAI model, by its documentation and errors (read on 26 November 2026). */
export interface OpenaiModel {
  readonly vendor: 'openai';
  readonly id: string;
  /** Available in Chat Completions. */
  readonly chats: boolean;
  /** Empty if the model does not reason. */
  readonly efforts: readonly string[];
  /** Default effort. */
  readonly defaultEffort: string | undefined;
  /** Functions in Chat Completions: accepted, only without an effort, only with `none`, or never. */
  readonly functions: 'taken' | 'without-effort' | 'beside-none' | 'never';
  /** Sampling: accepted, only without reasoning, or never. */
  readonly sampling: 'taken' | 'not-reasoning' | 'never';
}

type ModelProfile = Omit<OpenaiModel, 'id'>;

const high = ['none', 'low', 'medium', 'high'];
const xhigh = [...high, 'xhigh'];
const max = [...xhigh, 'max'];

const plain: ModelProfile = {
  vendor: 'openai',
  chats: true,
  efforts: [],
  defaultEffort: undefined,
  functions: 'taken',
  sampling: 'taken',
};
const since51: ModelProfile = { ...plain, efforts: high, defaultEffort: 'none', sampling: 'not-reasoning' };
/** https://github.com/livekit/agents/pull/5088 and https://github.com/openai/openai-openapi/issues/541 */
const since52: ModelProfile = { ...since51, efforts: xhigh, functions: 'without-effort' };
/** https://github.com/livekit/agents/pull/7169 and https://github.com/BerriAI/litellm/pull/34569 */
const since56: ModelProfile = { ...since52, efforts: max, defaultEffort: 'medium', functions: 'beside-none' };
/** https://github.com/bolna-ai/bolna/pull/1019 */
const always: ModelProfile = {
  ...since56,
  efforts: ['low', 'medium', 'high', 'xhigh', 'max'],
  functions: 'never',
  sampling: 'never',
};
const in5: ModelProfile = {
  ...plain,
  efforts: ['minimal', 'low', 'medium', 'high'],
  defaultEffort: 'medium',
  sampling: 'never',
};
/** https://github.com/langchain-ai/langchain/pull/35594 */
const professional: ModelProfile = {
  ...in5,
  chats: false,
  efforts: ['medium', 'high', 'xhigh'],
  defaultEffort: 'high',
};

const families: readonly (readonly [readonly string[], ModelProfile])[] = [
  [['gpt-6-astra', 'gpt-6.1-sol'], always],
  [['gpt-6-sol', 'gpt-6-luna', 'gpt-5.6', 'gpt-5.6-sol', 'gpt-5.6-terra', 'gpt-5.6-luna'], since56],
  [['gpt-5.5', 'gpt-5.5-2026-04-23'], { ...since52, defaultEffort: 'medium' }],
  [
    ['gpt-5.4', 'gpt-5.4-2026-03-05', 'gpt-5.4-mini', 'gpt-5.4-nano', 'gpt-5.2', 'gpt-5.2-2025-12-11'],
    since52,
  ],
  [['gpt-5.1', 'gpt-5.1-2025-11-13'], since51],
  [['gpt-5', 'gpt-5-2025-08-07', 'gpt-5-mini', 'gpt-5-nano'], in5],
  [['o3', 'o3-2025-04-16'], { ...in5, efforts: ['low', 'medium', 'high'] }],
  [['gpt-5.5-pro', 'gpt-5.4-pro', 'gpt-5.2-pro'], professional],
  [
    ['gpt-5.3-codex'],
    { ...professional, efforts: ['low', 'medium', 'high', 'xhigh'], defaultEffort: 'medium' },
  ],
  [['gpt-4.1', 'gpt-4.1-2025-04-14', 'gpt-4.1-mini', 'gpt-4o', 'gpt-4o-mini'], plain],
];

export const openaiModels: readonly OpenaiModel[] = families.flatMap(([ids, rest]) =>
  ids.map((id) => ({ ...rest, id })),
);
