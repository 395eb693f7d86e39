import type { SettledRecord } from '#extension';
import { completionTokens, formatUsd, promptTokens } from '../kernel';
import type { RequestRecord } from './request-record';

/** Public form of a request for extensions. Token counts are those reported to the caller. */
export const settledRecordOf = (entry: Omit<RequestRecord, 'settlementId'>): SettledRecord => ({
  request_id: entry.requestId,
  created_at: entry.createdAt.toISOString(),
  key_id: entry.keyId,
  user_id: entry.userId,
  organisation_id: entry.organisationId,
  department_id: entry.departmentId,
  project_id: entry.projectId,
  operation: entry.surface,
  model: entry.model,
  served_model: entry.servedModel,
  supplier: entry.supplier,
  region: entry.region,
  status: entry.status,
  error_code: entry.code,
  stream: entry.stream,
  failover: entry.failover,
  input_tokens: promptTokens(entry),
  output_tokens: completionTokens(entry),
  cached_tokens: entry.cacheReadTokens,
  cost_usd: formatUsd(entry.costNano),
  latency_ms: entry.latencyMs,
  first_token_ms: entry.firstTokenMs,
  finish_reason: entry.finishReason,
  end_user: entry.endUser,
  tags: [...(entry.tags ?? [])],
  ...(entry.sessionKey === null ? {} : { session_id: entry.sessionKey }),
});
