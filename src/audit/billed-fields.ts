import { formatMultiplier, type UsagePart } from '../kernel';
import type { RequestRecord } from './request-record';

/** What a charge is computed from, with the price: each token in one field. */
export const billedFields = (entry: Omit<RequestRecord, 'settlementId'>) => ({
  uncached_input_tokens: entry.inputTokens,
  cache_write_5m_tokens: entry.cacheWriteTokens,
  cache_write_1h_tokens: entry.cacheWriteLongTokens,
  visible_output_tokens: entry.outputTokens,
  audio_input_tokens: entry.audioInputTokens,
  audio_output_tokens: entry.audioOutputTokens,
  image_input_tokens: entry.imageTokens,
  image_output_tokens: entry.imageOutputTokens,
  calls: entry.calls,
  audio_milliseconds: entry.audioMilliseconds,
  tool_uses: entry.uses,
  images: entry.images,
  service_tier: entry.modes?.service_tier ?? null,
  speed: entry.modes?.speed ?? null,
  inference_geo: entry.modes?.inference_geo ?? null,
  parts: entry.parts?.map(presentPart) ?? null,
});

/** Work beside the answer, in the words of the counts; what is left out is zero. */
const presentPart = ({ kind, model, ...counts }: UsagePart) => ({
  kind,
  model,
  ...Object.fromEntries(Object.entries(counts).map(([name, count]) => [PART_NAMES[name] ?? name, count])),
});

const PART_NAMES: Readonly<Record<string, string>> = {
  inputTokens: 'uncached_input_tokens',
  cacheReadTokens: 'cache_read_tokens',
  cacheWriteTokens: 'cache_write_5m_tokens',
  cacheWriteLongTokens: 'cache_write_1h_tokens',
  outputTokens: 'visible_output_tokens',
  reasoningTokens: 'reasoning_tokens',
};

/** The same as columns of a file. */
export const billedColumns = [
  'uncached_input_tokens',
  'cache_write_5m_tokens',
  'cache_write_1h_tokens',
  'visible_output_tokens',
  'audio_input_tokens',
  'audio_output_tokens',
  'image_input_tokens',
  'image_output_tokens',
  'calls',
  'audio_milliseconds',
  'tool_uses',
  'images',
  'service_tier',
  'speed',
  'inference_geo',
  'parts',
] as const satisfies readonly (keyof ReturnType<typeof billedFields>)[];

/** The mark-up or discount that a record was charged by; null where it was the price itself. */
export const priceFactorOf = ({ priceFactor }: Pick<RequestRecord, 'priceFactor'>): string | null =>
  priceFactor === null ? null : formatMultiplier(BigInt(priceFactor));

/** A cell of a table: counts by name are one text, `web_search=3;file_search=1`, and a list is JSON. */
export function cellIn(value: unknown): unknown {
  if (Array.isArray(value)) return JSON.stringify(value);
  if (typeof value !== 'object' || value === null) return value;
  return Object.entries(value)
    .map(([name, count]) => `${name}=${count}`)
    .join(';');
}
