import { billedColumns, billedFields, priceFactorOf, type RequestEntry } from '../../audit';
import { type CatalogueSnapshot, pricesOf } from '../../catalogue';
import { completionTokens, formatUsd, promptTokens, toJsonNumber } from '../../kernel';

/** A request in the audit of a key. Token counts include cached and reasoning tokens, as reported to the caller. */
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
  price_factor: priceFactorOf(entry),
  usage_source: entry.usageSource,
  ...billedFields(entry),
  client_request_id: entry.clientRequestId,
});

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
  ...billedColumns,
  'price_factor',
  'client_request_id',
] as const satisfies readonly (keyof ReturnType<typeof presentRecord>)[];

export const presentGeneration = (entry: RequestEntry, keyId: string, snapshot: CatalogueSnapshot) => ({
  id: entry.requestId,
  object: 'generation',
  ...presentRecord(entry, keyId),
  prices: pricesOf([entry], snapshot),
  fees: (entry.surcharges ?? []).map(({ name, cost_nano: nano }) => ({
    name,
    cost_usd: nano === undefined ? null : toJsonNumber(BigInt(nano)),
    cost: nano === undefined ? null : formatUsd(BigInt(nano)),
  })),
  served_model: entry.servedModel,
  surface: entry.surface,
  stream: entry.stream,
  finish_reason: entry.finishReason,
  first_token_ms: entry.firstTokenMs,
  session_id: entry.sessionKey,
  dropped: entry.dropped ?? {},
  attempts: entry.attempts ?? [],
});
