/** A model of OpenAI's behaves so, as its documents and errors say (read on 26 November 2026). */
export interface OpenaiModel {
  readonly vendor: 'openai';
  readonly id: string;
  /** It has the interface of chat completions. */
  readonly chats: boolean;
  /** None: it does not reason. */
  readonly efforts: readonly string[];
  /** Its effort where the request names none. */
  readonly usual: string | undefined;
  /** Functions in chat completions are taken, taken only without an effort, only beside `none`, or never. */
  readonly functions: 'taken' | 'without-effort' | 'beside-none' | 'never';
  /** Sampling: taken, only where it does not reason, or never. */
  readonly sampling: 'taken' | 'not-reasoning' | 'never';
}

type Rest = Omit<OpenaiModel, 'id'>;

const high = ['none', 'low', 'medium', 'high'];
const xhigh = [...high, 'xhigh'];
const max = [...xhigh, 'max'];

const plain: Rest = {
  vendor: 'openai',
  chats: true,
  efforts: [],
  usual: undefined,
  functions: 'taken',
  sampling: 'taken',
};
const since51: Rest = { ...plain, efforts: high, usual: 'none', sampling: 'not-reasoning' };
/** https://github.com/livekit/agents/pull/5088 and https://github.com/openai/openai-openapi/issues/541 */
const since52: Rest = { ...since51, efforts: xhigh, functions: 'without-effort' };
/** https://github.com/livekit/agents/pull/7169 and https://github.com/BerriAI/litellm/pull/34569 */
const since56: Rest = { ...since52, efforts: max, usual: 'medium', functions: 'beside-none' };
/** https://github.com/bolna-ai/bolna/pull/1019 */
const always: Rest = {
  ...since56,
  efforts: ['low', 'medium', 'high', 'xhigh', 'max'],
  functions: 'never',
  sampling: 'never',
};
const in5: Rest = {
  ...plain,
  efforts: ['minimal', 'low', 'medium', 'high'],
  usual: 'medium',
  sampling: 'never',
};
/** https://github.com/langchain-ai/langchain/pull/35594 */
const professional: Rest = {
  ...in5,
  chats: false,
  efforts: ['medium', 'high', 'xhigh'],
  usual: 'high',
};

const families: readonly (readonly [readonly string[], Rest])[] = [
  [['gpt-6-astra', 'gpt-6.1-sol'], always],
  [['gpt-6-sol', 'gpt-6-luna', 'gpt-5.6', 'gpt-5.6-sol', 'gpt-5.6-terra', 'gpt-5.6-luna'], since56],
  [['gpt-5.5', 'gpt-5.5-2026-04-23'], { ...since52, usual: 'medium' }],
  [
    ['gpt-5.4', 'gpt-5.4-2026-03-05', 'gpt-5.4-mini', 'gpt-5.4-nano', 'gpt-5.2', 'gpt-5.2-2025-12-11'],
    since52,
  ],
  [['gpt-5.1', 'gpt-5.1-2025-11-13'], since51],
  [['gpt-5', 'gpt-5-2025-08-07', 'gpt-5-mini', 'gpt-5-nano'], in5],
  [['o3', 'o3-2025-04-16'], { ...in5, efforts: ['low', 'medium', 'high'] }],
  [['gpt-5.5-pro', 'gpt-5.4-pro', 'gpt-5.2-pro'], professional],
  [['gpt-5.3-codex'], { ...professional, efforts: ['low', 'medium', 'high', 'xhigh'], usual: 'medium' }],
  [['gpt-4.1', 'gpt-4.1-2025-04-14', 'gpt-4.1-mini', 'gpt-4o', 'gpt-4o-mini'], plain],
];

export const openaiModels: readonly OpenaiModel[] = families.flatMap(([ids, rest]) =>
  ids.map((id) => ({ ...rest, id })),
);
