import { formatMultiplier, snakeCased, type UsageBucket, type UsagePart } from '../kernel';
import type { RequestRecord } from './request-record';

/** Cache reads and reasoning are already next to the sums of a record. */
const tokenFields = {
  uncached_input_tokens: 'inputTokens',
  cache_write_5m_tokens: 'cacheWriteTokens',
  cache_write_1h_tokens: 'cacheWriteLongTokens',
  visible_output_tokens: 'outputTokens',
  audio_input_tokens: 'audioInputTokens',
  audio_output_tokens: 'audioOutputTokens',
  image_input_tokens: 'imageTokens',
  image_output_tokens: 'imageOutputTokens',
} as const satisfies Readonly<Record<string, UsageBucket>>;
type TokenField = keyof typeof tokenFields;
const tokenNames = Object.keys(tokenFields) as TokenField[];

/** Quantities that a charge is computed from, besides the price; each token is in exactly one field. */
export const billedFields = (entry: Omit<RequestRecord, 'settlementId'>) => ({
  ...(Object.fromEntries(tokenNames.map((name) => [name, entry[tokenFields[name]]])) as Record<
    TokenField,
    number
  >),
  calls: entry.calls,
  audio_milliseconds: entry.audioMilliseconds,
  tool_uses: entry.uses,
  images: entry.images,
  service_tier: entry.modes?.service_tier ?? null,
  speed: entry.modes?.speed ?? null,
  inference_geo: entry.modes?.inference_geo ?? null,
  parts: entry.parts?.map(presentPart) ?? null,
});

/** Work in addition to the reply, with the field names of the counts; omitted counts are zero. */
const presentPart = ({ kind, model, ...counts }: UsagePart) => ({
  kind,
  model,
  ...Object.fromEntries(Object.entries(counts).map(([bucket, count]) => [nameOf(bucket), count])),
});

const nameOf = (bucket: string): string =>
  tokenNames.find((name) => tokenFields[name] === bucket) ?? snakeCased(bucket);

export const billedColumns = [
  ...tokenNames,
  'calls',
  'audio_milliseconds',
  'tool_uses',
  'images',
  'service_tier',
  'speed',
  'inference_geo',
  'parts',
] as const satisfies readonly (keyof ReturnType<typeof billedFields>)[];

/** Mark-up or discount that a record was charged with; null if the plain price applied. */
export const priceFactorOf = ({ priceFactor }: Pick<RequestRecord, 'priceFactor'>): string | null =>
  priceFactor === null ? null : formatMultiplier(BigInt(priceFactor));

/** Table cell: counts by name become one text, `web_search=3;file_search=1`, and a list becomes JSON. */
export function toCell(value: unknown): unknown {
  if (Array.isArray(value)) return JSON.stringify(value);
  if (typeof value !== 'object' || value === null) return value;
  return Object.entries(value)
    .map(([name, count]) => `${name}=${count}`)
    .join(';');
}
