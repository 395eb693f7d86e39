import { createHash } from 'node:crypto';
import type { SettledRecord } from '#extension';
import type { OutgoingClient, PostSinkSetting } from '../../../platform';
import { SinkFailure } from '../failure';
import type { Sink } from '../registered-tap';
import { attributesOf, readResponse, nanoOf, operationOf, otlpKinds, resource, scope } from './otlp';
import { post } from './post';

// Former limit of batches (API Reference of Langfuse, "Ingestion"), before compression.
const MAX_BODY_BYTES = 3_500_000;
// An internal error of Langfuse is temporary.
const kinds = { ...otlpKinds, 500: 'unknown' } as const;

const CLIENT = 3;
const ERROR = 2;

/**
 * Sends generations to Langfuse through its OpenTelemetry endpoint (Langfuse documentation, "Migrate custom ingestion
 * to Langfuse v4"). `/api/public/ingestion`, which answered with 207, ended on Langfuse Cloud on 2026-11-16.
 */
export const langfuseSink = (
  { name, url, batch, timeoutMs, everyMs }: PostSinkSetting,
  keys: string,
  outgoing: OutgoingClient,
): Sink => {
  const headers = {
    authorization: `Basic ${Buffer.from(keys).toString('base64')}`,
    'x-langfuse-ingestion-version': '4',
  };
  return {
    ...{ name, kind: 'langfuse', target: url, batchSize: batch, timeoutMs, everyMs },
    async send(records, signal) {
      const body = JSON.stringify({
        resourceSpans: [{ resource, scopeSpans: [{ scope, spans: records.map(spanOf) }] }],
      });
      if (records.length > 1 && Buffer.byteLength(body) > MAX_BODY_BYTES)
        throw new SinkFailure('content', 'these records are more than one request may have');
      const response = await post(outgoing, { url, headers, body, timeoutMs, signal });
      return readResponse(response, records, { counted: 'rejectedSpans', kinds });
    },
  };
};

function spanOf(record: SettledRecord) {
  const { request_id: id, created_at: createdAt, latency_ms: latency, error_code: code, test } = record;
  // A test must not be mistaken for its request: Langfuse keeps both of two spans with the same id.
  const seed = test === true ? `test ${id} ${Date.now()}` : `${id} ${createdAt}`;
  return {
    traceId: test === true ? digestOf(seed, 32) : id.replaceAll('-', ''),
    spanId: digestOf(seed, 16),
    name: `${operationOf(record)} ${record.model ?? 'unknown'}`,
    kind: CLIENT,
    startTimeUnixNano: nanoOf(createdAt),
    endTimeUnixNano: nanoOf(createdAt, latency),
    attributes: generationOf(record),
    ...(code === null ? {} : { status: { code: ERROR, message: code } }),
  };
}

/** Two requests of a caller can have the same id: they share a trace, and each has a span of its own. */
const digestOf = (text: string, digits: number): string =>
  createHash('sha256').update(text).digest('hex').slice(0, digits);

/** Names from Langfuse's documentation, "OpenTelemetry", attribute mapping. */
function generationOf(record: SettledRecord) {
  const { input_tokens: input, output_tokens: output, cached_tokens: cached, first_token_ms: first } = record;
  const usage = {
    input: Math.max(0, input - cached),
    output,
    ...(cached > 0 ? { cache_read_input_tokens: cached } : {}),
    total: input + output,
  };
  const metadata = {
    request_id: record.request_id,
    operation: record.operation,
    supplier: record.supplier,
    region: record.region,
    status: record.status,
    error_code: record.error_code,
    finish_reason: record.finish_reason,
    stream: record.stream,
    failover: record.failover,
    key_id: record.key_id,
    user_id: record.user_id,
    organisation_id: record.organisation_id,
    department_id: record.department_id,
    project_id: record.project_id,
    requested_model: record.model,
    latency_ms: record.latency_ms,
    first_token_ms: first,
  };
  const user = record.end_user ?? (record.user_id === null ? null : String(record.user_id));
  return attributesOf({
    'langfuse.observation.type': 'generation',
    'langfuse.observation.model.name': record.served_model ?? record.model,
    'langfuse.observation.usage_details': JSON.stringify(usage),
    'langfuse.observation.cost_details': JSON.stringify({ total: Number(record.cost_usd) }),
    'langfuse.observation.completion_start_time':
      first === null ? null : new Date(Date.parse(record.created_at) + first).toISOString(),
    'langfuse.observation.level': record.error_code === null ? 'DEFAULT' : 'ERROR',
    'langfuse.observation.status_message': record.error_code,
    'langfuse.trace.name': record.operation,
    'langfuse.trace.tags': record.tags,
    'langfuse.user.id': user,
    'langfuse.session.id': record.session_id,
    'langfuse.environment': record.test === true ? 'switchboard-test' : null,
    ...Object.fromEntries(
      Object.entries(metadata).map(([key, value]) => [
        `langfuse.observation.metadata.${key}`,
        value === null ? null : String(value),
      ]),
    ),
  });
}
