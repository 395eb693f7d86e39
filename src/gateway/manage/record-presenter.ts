import type { RequestEntry } from '../../audit';
import { completionTokens, promptTokens, toJsonNumber } from '../../kernel';

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
] as const satisfies readonly (keyof ReturnType<typeof presentRecord>)[];

/** One request as its own caller sees it: everything, the attempts included. */
export const presentGeneration = (entry: RequestEntry, keyId: string): object => ({
  id: entry.requestId,
  object: 'generation',
  ...presentRecord(entry, keyId),
  served_model: entry.servedModel,
  surface: entry.surface,
  usage_source: entry.usageSource,
  stream: entry.stream,
  finish_reason: entry.finishReason,
  first_token_ms: entry.firstTokenMs,
  session_id: entry.sessionKey,
  dropped: entry.dropped ?? {},
  attempts: entry.attempts ?? [],
});
