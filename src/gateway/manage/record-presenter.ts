import type { RequestEntry } from '../../audit';
import type { CatalogueSnapshot } from '../../catalogue';
import {
  completionTokens,
  formatMultiplier,
  formatUsd,
  promptTokens,
  toJsonNumber,
  type UsagePart,
} from '../../kernel';
import { presentPrice } from './price-presenter';

/** One request in the audit of a key; the tokens as the caller was told them, cached and reasoning ones included. */
export const presentRecord = (entry: RequestEntry, keyId: string) => ({
  timestamp: entry.createdAt.toISOString(),
  key_id: keyId,
  model: entry.model,
  supplier: entry.supplier,
  region: entry.region,
  input_tokens: promptTokens(entry),
  output_tokens: completionTokens(entry),
  cost_usd: toJsonNumber(entry.costNano),
  latency_ms: entry.latencyMs,
  request_id: entry.requestId,
  status: entry.status,
  code: entry.code,
  failover: entry.failover,
  cache_read_tokens: entry.cacheReadTokens,
  cache_write_tokens: entry.cacheWriteTokens + entry.cacheWriteLongTokens,
  reasoning_tokens: entry.reasoningTokens,
  cost: formatUsd(entry.costNano),
  price_id: entry.priceId,
  price_factor: entry.priceFactor === null ? null : formatMultiplier(BigInt(entry.priceFactor)),
  usage_source: entry.usageSource,
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

/** Work beside the answer, in the words of the counts above; what is left out is zero. */
const presentPart = ({ kind, model, ...counts }: UsagePart): object => ({
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

/** The versions of prices that these requests were charged by, by their ids. */
export function pricesOf(entries: readonly RequestEntry[], snapshot: CatalogueSnapshot): object {
  const ids = new Set(entries.flatMap(({ priceId }) => (priceId === null ? [] : [priceId])));
  return Object.fromEntries(
    [...ids].flatMap((id) => {
      const price = snapshot.price(id);
      return price === undefined ? [] : [[String(id), presentPrice(price.rates)]];
    }),
  );
}

/** A cell of a table: counts by name are one text, `web_search=3;file_search=1`. */
export const cellIn = (value: unknown): unknown =>
  Array.isArray(value)
    ? JSON.stringify(value)
    : typeof value === 'object' && value !== null
      ? Object.entries(value)
          .map(([name, count]) => `${name}=${count}`)
          .join(';')
      : value;

export const recordColumns = [
  'timestamp',
  'key_id',
  'model',
  'supplier',
  'region',
  'input_tokens',
  'output_tokens',
  'cost_usd',
  'latency_ms',
  'request_id',
  'status',
  'code',
  'failover',
  'cache_read_tokens',
  'cache_write_tokens',
  'reasoning_tokens',
  'cost',
  'price_id',
  'usage_source',
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
  'price_factor',
  'parts',
] as const satisfies readonly (keyof ReturnType<typeof presentRecord>)[];

/** One request as its own caller sees it: everything, the attempts included. */
export const presentGeneration = (
  entry: RequestEntry,
  keyId: string,
  snapshot: CatalogueSnapshot,
): object => ({
  id: entry.requestId,
  object: 'generation',
  ...presentRecord(entry, keyId),
  prices: pricesOf([entry], snapshot),
  served_model: entry.servedModel,
  surface: entry.surface,
  stream: entry.stream,
  finish_reason: entry.finishReason,
  first_token_ms: entry.firstTokenMs,
  session_id: entry.sessionKey,
  dropped: entry.dropped ?? {},
  attempts: entry.attempts ?? [],
});
