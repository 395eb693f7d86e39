/**
 * Names that SDKs still list although their vendor no longer serves them, by their last day.
 * Sources: https://developers.openai.com/api/docs/deprecations and the typings of openai 7.59.0 and @anthropic-ai/sdk
 * 1.14.0.
 */
const endedByDay: Readonly<Record<string, readonly string[]>> = {
  '2024-09-13': ['gpt-3.5-turbo-16k', 'gpt-3.5-turbo-0301', 'gpt-3.5-turbo-0613', 'gpt-3.5-turbo-16k-0613'],
  '2024-12-06': ['gpt-4-vision-preview'],
  '2025-06-06': ['gpt-4-32k', 'gpt-4-32k-0314', 'gpt-4-32k-0613'],
  '2025-07-28': ['o1-preview', 'o1-preview-2024-09-12'],
  '2025-10-10': ['gpt-4o-audio-preview-2024-10-01'],
  '2025-10-27': ['o1-mini', 'o1-mini-2024-09-12', 'text-moderation-latest', 'text-moderation-stable'],
  '2026-02-12': ['codex-mini-latest'],
  '2026-02-17': ['chatgpt-4o-latest'],
  '2026-03-26': ['gpt-4-0125-preview', 'gpt-4-turbo-preview', 'gpt-4-0314'],
  '2026-05-07': [
    'gpt-4o-audio-preview',
    'gpt-4o-audio-preview-2024-12-17',
    'gpt-4o-audio-preview-2025-06-03',
    'gpt-4o-mini-audio-preview',
    'gpt-4o-mini-audio-preview-2024-12-17',
  ],
  '2026-05-12': ['dall-e-2', 'dall-e-3'],
  '2026-06-30': ['claude-mythos-preview'],
  '2026-07-23': [
    'computer-use-preview',
    'computer-use-preview-2025-03-11',
    'gpt-4o-mini-search-preview',
    'gpt-4o-mini-search-preview-2025-03-11',
    'gpt-4o-search-preview',
    'gpt-4o-search-preview-2025-03-11',
    'gpt-5-chat-latest',
    'gpt-5-codex',
    'gpt-5.1-chat-latest',
    'gpt-5.1-codex',
    'gpt-5.1-codex-max',
    'o3-deep-research',
    'o3-deep-research-2025-06-26',
    'o4-mini-deep-research',
    'o4-mini-deep-research-2025-06-26',
  ],
  '2026-08-10': ['gpt-5.2-chat-latest', 'gpt-5.3-chat-latest'],
  '2026-09-28': ['gpt-3.5-turbo-1106'],
  '2026-10-23': [
    'gpt-3.5-turbo',
    'gpt-3.5-turbo-0125',
    'gpt-4',
    'gpt-4-0613',
    'gpt-4-1106-preview',
    'gpt-4-turbo',
    'gpt-4-turbo-2024-04-09',
    'gpt-4.1-nano',
    'gpt-4.1-nano-2025-04-14',
    'gpt-4o-2024-05-13',
    'gpt-image-1',
    'o1',
    'o1-2024-12-17',
    'o1-pro',
    'o1-pro-2025-03-19',
    'o3-mini',
    'o3-mini-2025-01-31',
    'o4-mini',
    'o4-mini-2025-04-16',
  ],
};

/** The SDK calls `gpt-5.1-mini` "not a supported model ID, retained for compatibility". */
const NEVER_SERVED = ['gpt-5.1-mini'] as const;

const ended: ReadonlySet<string> = new Set([...Object.values(endedByDay).flat(), ...NEVER_SERVED]);

export const isEnded = (name: string): boolean => ended.has(name);
