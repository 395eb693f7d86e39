import type { Effort, ModelFacts, PictureFacts } from '../facts';
import { CHECKED } from './checked';

const DOCS = 'https://developers.openai.com/api/docs';
const DEPRECATIONS = `${DOCS}/deprecations`;
const TOOLS_AND_EFFORT = 'https://github.com/livekit/agents/pull/7169';
const RESPONSES_ONLY = 'https://github.com/langchain-ai/langchain/pull/35594';

/** https://developers.openai.com/api/docs/guides/images-vision */
const pictures = {
  tiles85: { kind: 'tiles', base: 85, tile: 170 },
  // Billed at 33 times the tokens that images take of the window.
  tiles4oMini: { kind: 'tiles', base: 2_833, tile: 5_667, factor: 34 },
  tiles75: { kind: 'tiles', base: 75, tile: 150 },
  tiles70: { kind: 'tiles', base: 70, tile: 140 },
  small: { kind: 'squares', side: 32, most: 2_500, factor: 2.46 },
  squares: { kind: 'squares', side: 32, most: 2_500, factor: 1.2 },
  in54: { kind: 'detail', high: 2_500, original: 10_000, automatic: 2_500, factor: 1.2 },
  in55: { kind: 'detail', high: 2_500, original: 10_000, automatic: 10_000, factor: 1.2 },
} as const satisfies Record<string, PictureFacts>;

const upTo = {
  high: ['none', 'low', 'medium', 'high'],
  xhigh: ['none', 'low', 'medium', 'high', 'xhigh'],
  max: ['none', 'low', 'medium', 'high', 'xhigh', 'max'],
} as const satisfies Record<string, readonly Effort[]>;

/** Reasoning models take `max_completion_tokens` instead of `max_tokens`. */
const refusedByReasoning = ['max_tokens', 'stop', 'presence_penalty', 'frequency_penalty', 'logit_bias'];

const above272k = { above: 272_000, input: 2, output: 1.5 };

type OpenaiModelRow = Pick<ModelFacts, 'id' | 'source'> & Partial<ModelFacts>;

const plain = (row: OpenaiModelRow): ModelFacts => ({
  vendor: 'openai',
  sampling: 'free',
  forcedTools: true,
  chat: 'free',
  schema: 'openai',
  checked: CHECKED,
  ...row,
});

const reasoning = (row: OpenaiModelRow): ModelFacts => ({
  vendor: 'openai',
  window: 400_000,
  maxOutput: 128_000,
  forcedTools: true,
  chatRefuses: refusedByReasoning,
  schema: 'openai',
  checked: CHECKED,
  ...row,
});

/** Effort is honoured; `none` switches thinking off. */
const since52 = (row: OpenaiModelRow): ModelFacts =>
  reasoning({
    thinking: { efforts: upTo.xhigh, usual: 'none', unasked: false, canStop: true },
    sampling: 'unless-thinking',
    chat: 'tools-without-effort',
    ...row,
  });

/** Think by default; `none` must be explicit. */
const since56 = (row: OpenaiModelRow): ModelFacts =>
  reasoning({
    window: 1_050_000,
    thinking: {
      efforts: upTo.max,
      responsesOnly: ['max'],
      usual: 'medium',
      unasked: true,
      canStop: true,
    },
    sampling: 'unless-thinking',
    chat: 'tools-with-none',
    longContext: above272k,
    ...row,
  });

/** Thinking cannot be switched off. */
const alwaysThinking = (row: OpenaiModelRow): ModelFacts =>
  reasoning({
    window: 1_050_000,
    thinking: {
      efforts: ['low', 'medium', 'high', 'xhigh', 'max'],
      responsesOnly: ['max'],
      unasked: true,
      canStop: false,
    },
    sampling: 'refused',
    chat: 'tools-refused',
    longContext: above272k,
    ...row,
  });

const professional = (row: OpenaiModelRow): ModelFacts =>
  reasoning({
    thinking: { efforts: ['medium', 'high', 'xhigh'], unasked: true, canStop: false },
    sampling: 'refused',
    chat: 'refused',
    ...row,
  });

const in5 = (row: OpenaiModelRow): ModelFacts =>
  reasoning({
    thinking: {
      efforts: ['minimal', 'low', 'medium', 'high'],
      usual: 'medium',
      unasked: true,
      canStop: false,
    },
    sampling: 'refused',
    chat: 'free',
    ends: '2026-12-11',
    ...row,
  });

const gpt6: readonly ModelFacts[] = [
  alwaysThinking({ id: 'gpt-6-astra', source: 'https://github.com/bolna-ai/bolna/pull/1019' }),
  alwaysThinking({
    id: 'gpt-6.1-sol',
    source: 'https://docs.laozhang.ai/en/announcements/gpt-6-1-sol-2026-10',
  }),
  alwaysThinking({ id: 'gpt-6.2-astra', source: `${DOCS}/models/gpt-6.2-astra` }),
  alwaysThinking({ id: 'gpt-6.2-sol', source: `${DOCS}/models/gpt-6.2-sol` }),
  since56({ id: 'gpt-6.1-terra', chat: 'tools-refused', source: `${DOCS}/models/gpt-6.1-terra` }),
  since56({ id: 'gpt-6-sol', source: 'https://github.com/onyx-dot-app/onyx/issues/15008' }),
  since56({ id: 'gpt-6-luna', source: 'https://github.com/genkit-ai/genkit/pull/6303' }),
];

/** Models for approved customers; the SDK lists them for the Responses API only. */
const special: readonly ModelFacts[] = [
  'gpt-daybreak-blue-latest',
  'gpt-daybreak-red-latest',
  'gpt-5.6-cyber',
  'gpt-6-cyber',
  'gpt-rosalind-research',
  'gpt-6-rosalind',
  'gpt-6.2-astra-law',
].map((id) =>
  reasoning({
    id,
    window: undefined,
    maxOutput: undefined,
    thinking: { efforts: ['low', 'medium', 'high', 'xhigh'], unasked: true, canStop: false },
    sampling: 'refused',
    chat: 'refused',
    source: 'npm:openai@7.59.0 (ResponsesModel)',
  }),
);

const gpt5: readonly ModelFacts[] = [
  since56({ id: 'gpt-5.6-sol', aliases: ['gpt-5.6'], source: TOOLS_AND_EFFORT }),
  since56({ id: 'gpt-5.6-terra', source: TOOLS_AND_EFFORT }),
  since56({ id: 'gpt-5.6-luna', source: TOOLS_AND_EFFORT }),
  since52({
    id: 'gpt-5.5',
    aliases: ['gpt-5.5-2026-04-23'],
    window: 1_050_000,
    thinking: { efforts: upTo.xhigh, unasked: true, canStop: true },
    pictures: pictures.in55,
    longContext: above272k,
    source: 'https://github.com/charmbracelet/crush/issues/2913',
  }),
  professional({
    id: 'gpt-5.5-pro',
    aliases: ['gpt-5.5-pro-2026-04-23'],
    window: 1_050_000,
    pictures: pictures.in55,
    longContext: above272k,
    source: RESPONSES_ONLY,
  }),
  since52({
    id: 'gpt-5.4',
    aliases: ['gpt-5.4-2026-03-05'],
    window: 1_050_000,
    pictures: pictures.in54,
    longContext: above272k,
    source: 'https://github.com/openai/openai-openapi/issues/541',
  }),
  professional({
    id: 'gpt-5.4-pro',
    aliases: ['gpt-5.4-pro-2026-03-05'],
    window: 1_050_000,
    pictures: pictures.in54,
    longContext: above272k,
    source: RESPONSES_ONLY,
  }),
  since52({
    id: 'gpt-5.4-mini',
    aliases: ['gpt-5.4-mini-2026-03-17'],
    pictures: pictures.small,
    source: 'https://github.com/openai/openai-openapi/issues/541',
  }),
  since52({
    id: 'gpt-5.4-nano',
    aliases: ['gpt-5.4-nano-2026-03-17'],
    pictures: pictures.small,
    ends: '2027-04-01',
    source: DEPRECATIONS,
  }),
  professional({
    id: 'gpt-5.3-codex',
    thinking: { efforts: ['low', 'medium', 'high', 'xhigh'], unasked: true, canStop: false },
    pictures: pictures.squares,
    ends: '2027-04-01',
    source: `${DOCS}/models/gpt-5.3-codex`,
  }),
  since52({
    id: 'gpt-5.2',
    aliases: ['gpt-5.2-2025-12-11'],
    pictures: pictures.squares,
    source: 'https://github.com/livekit/agents/pull/5088',
  }),
  professional({
    id: 'gpt-5.2-pro',
    aliases: ['gpt-5.2-pro-2025-12-11'],
    pictures: pictures.squares,
    source: RESPONSES_ONLY,
  }),
  reasoning({
    id: 'gpt-5.1',
    aliases: ['gpt-5.1-2025-11-13'],
    thinking: { efforts: upTo.high, usual: 'none', unasked: false, canStop: true },
    sampling: 'unless-thinking',
    chat: 'free',
    pictures: pictures.tiles70,
    ends: '2027-04-01',
    source: 'https://github.com/livekit/agents/pull/3966',
  }),
  in5({ id: 'gpt-5', aliases: ['gpt-5-2025-08-07'], pictures: pictures.tiles70, source: DEPRECATIONS }),
  in5({
    id: 'gpt-5-mini',
    aliases: ['gpt-5-mini-2025-08-07'],
    pictures: pictures.small,
    source: DEPRECATIONS,
  }),
  in5({
    id: 'gpt-5-nano',
    aliases: ['gpt-5-nano-2025-08-07'],
    pictures: pictures.small,
    source: DEPRECATIONS,
  }),
  professional({
    id: 'gpt-5-pro',
    aliases: ['gpt-5-pro-2025-10-06'],
    thinking: { efforts: ['high'], usual: 'high', unasked: true, canStop: false },
    maxOutput: 272_000,
    pictures: pictures.tiles70,
    ends: '2026-12-11',
    source: DEPRECATIONS,
  }),
];

const earlier: readonly ModelFacts[] = [
  reasoning({
    id: 'o3',
    aliases: ['o3-2025-04-16'],
    window: 200_000,
    maxOutput: 100_000,
    thinking: { efforts: ['low', 'medium', 'high'], usual: 'medium', unasked: true, canStop: false },
    sampling: 'refused',
    chat: 'free',
    pictures: pictures.tiles75,
    ends: '2026-12-11',
    source: DEPRECATIONS,
  }),
  professional({
    id: 'o3-pro',
    aliases: ['o3-pro-2025-06-10'],
    window: 200_000,
    maxOutput: 100_000,
    thinking: { efforts: ['low', 'medium', 'high'], unasked: true, canStop: false },
    pictures: pictures.tiles75,
    ends: '2026-12-11',
    source: DEPRECATIONS,
  }),
  plain({
    id: 'gpt-4.1',
    aliases: ['gpt-4.1-2025-04-14'],
    window: 1_047_576,
    maxOutput: 32_768,
    pictures: pictures.tiles85,
    ends: '2027-01-14',
    source: DEPRECATIONS,
  }),
  plain({
    id: 'gpt-4.1-mini',
    aliases: ['gpt-4.1-mini-2025-04-14'],
    window: 1_047_576,
    maxOutput: 32_768,
    pictures: pictures.small,
    ends: '2027-01-14',
    source: DEPRECATIONS,
  }),
  plain({
    id: 'gpt-4o',
    aliases: ['gpt-4o-2024-11-20', 'gpt-4o-2024-08-06'],
    window: 128_000,
    maxOutput: 16_384,
    pictures: pictures.tiles85,
    ends: '2027-01-14',
    source: DEPRECATIONS,
  }),
  plain({
    id: 'gpt-4o-mini',
    aliases: ['gpt-4o-mini-2024-07-18'],
    window: 128_000,
    maxOutput: 16_384,
    pictures: pictures.tiles4oMini,
    ends: '2027-01-14',
    source: DEPRECATIONS,
  }),
];

/** A model of an operation other than text generation. */
const single = (id: string, source: string, rest: Partial<ModelFacts> = {}): ModelFacts => ({
  id,
  vendor: 'openai',
  source,
  checked: CHECKED,
  ...rest,
});

const IMAGES = 'npm:@ai-sdk/openai@4.0.118 (model catalogue)';

const others: readonly ModelFacts[] = [
  single('gpt-audio-mini', DEPRECATIONS, { aliases: ['gpt-audio-mini-2025-12-15'], ends: '2027-01-20' }),
  single('omni-moderation-latest', `${DOCS}/guides/moderation`, { aliases: ['omni-moderation-2024-09-26'] }),
  single('text-embedding-ada-002', `${DOCS}/guides/embeddings`, { window: 8_191 }),
  single('text-embedding-3-large', `${DOCS}/guides/embeddings`, { window: 8_191 }),
  single('text-embedding-3-small', `${DOCS}/guides/embeddings`, { window: 8_191 }),
  single('gpt-image-2', IMAGES, { aliases: ['gpt-image-2-2026-04-21'] }),
  single('gpt-image-2.5-sunburst', IMAGES, { aliases: ['gpt-image-2.5-sunburst-2026-09-08'] }),
  single('gpt-image-2.5-flare', IMAGES, { aliases: ['gpt-image-2.5-flare-2026-09-08'] }),
  single('gpt-image-2.6-sunburst', IMAGES),
  single('gpt-image-2.6-flare', IMAGES),
  single('gpt-image-1.5', DEPRECATIONS, { aliases: ['gpt-image-1.5-2025-12-16'], ends: '2026-12-01' }),
  single('gpt-image-1-mini', DEPRECATIONS, { ends: '2026-12-01' }),
  single('chatgpt-image-latest', DEPRECATIONS, { ends: '2026-12-01' }),
  single('tts-1', DEPRECATIONS, { ends: '2027-01-06' }),
  single('tts-1-hd', DEPRECATIONS, { ends: '2027-01-06' }),
  single('gpt-4o-mini-tts', DEPRECATIONS, { aliases: ['gpt-4o-mini-tts-2025-12-15'], ends: '2027-01-06' }),
  single('whisper-1', DEPRECATIONS, { ends: '2027-02-26' }),
  single('gpt-4o-transcribe', DEPRECATIONS, { ends: '2027-02-26' }),
  single('gpt-4o-mini-transcribe', DEPRECATIONS, {
    aliases: ['gpt-4o-mini-transcribe-2025-12-15'],
    ends: '2027-02-26',
  }),
  single('gpt-4o-transcribe-diarize', DEPRECATIONS, { ends: '2027-02-26' }),
  single('gpt-transcribe', IMAGES),
];

export const openaiModels: readonly ModelFacts[] = [...gpt6, ...special, ...gpt5, ...earlier, ...others];
