import type { SettledRecord } from '#extension';
import { completionTokens, formatUsd, promptTokens } from '../kernel';
import type { RequestRecord } from './request-record';

/** A request as extensions see it once it was settled; null where it was made by no key of a customer. */
export function settledRecordOf(record: Omit<RequestRecord, 'settlementId'>): SettledRecord | null {
  if (record.keyId === null) return null;
  return {
    request_id: record.requestId,
    created_at: record.createdAt.toISOString(),
    key_id: record.keyId,
    user_id: record.userId,
    organisation_id: record.organisationId,
    department_id: record.departmentId,
    project_id: record.projectId,
    operation: record.surface,
    model: record.model ?? '',
    served_model: record.servedModel,
    supplier: record.supplier,
    region: record.region,
    status: record.status,
    error_code: record.code,
    stream: record.stream,
    failover: record.failover,
    input_tokens: promptTokens(record),
    output_tokens: completionTokens(record),
    cached_tokens: record.cacheReadTokens,
    cost_usd: formatUsd(record.costNano),
    latency_ms: record.latencyMs,
    first_token_ms: record.firstTokenMs,
    finish_reason: record.finishReason,
    end_user: record.endUser,
    tags: record.tags ?? [],
  };
}
