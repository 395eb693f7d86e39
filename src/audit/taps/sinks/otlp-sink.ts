import type { SettledRecord } from '#extension';
import { headerIn, type OutgoingClient, type PostSinkSetting } from '../../../platform';
import { SinkFailure } from '../failure';
import type { Sink } from '../registered-tap';
import {
  attributesOf,
  readResponse,
  summaryOf,
  nanoOf,
  operationOf,
  otlpKinds,
  resource,
  scope,
} from './otlp';
import { post } from './post';

// OTLP Specification, "OTLP/HTTP Request": recommended limit of a request before compression.
const MAX_BODY_BYTES = 20 * 1_024 * 1_024;

// OpenTelemetry, Logs Data Model, "Field: SeverityNumber".
const INFO = { severityNumber: 9, severityText: 'INFO' };
const ERROR = { severityNumber: 17, severityText: 'ERROR' };

export const otlpSink = (
  { name, url, batch, timeoutMs, everyMs }: PostSinkSetting,
  secrets: readonly string[],
  outgoing: OutgoingClient,
): Sink => {
  const headers = Object.fromEntries(secrets.map((secret) => headerIn(secret)!));
  return {
    ...{ name, kind: 'otlp', target: url, batchSize: batch, timeoutMs, everyMs },
    async send(records, signal) {
      const body = JSON.stringify(logsOf(records));
      if (records.length > 1 && Buffer.byteLength(body) > MAX_BODY_BYTES)
        throw new SinkFailure('content', 'these records are more than one request may have');
      const response = await post(outgoing, { url, headers, body, timeoutMs, signal });
      return readResponse(response, records, { counted: 'rejectedLogRecords', kinds: otlpKinds });
    },
  };
};

const logsOf = (records: readonly SettledRecord[]) => ({
  resourceLogs: [{ resource, scopeLogs: [{ scope, logRecords: records.map(logRecordOf) }] }],
});

function logRecordOf(record: SettledRecord) {
  const time = nanoOf(record.created_at, record.latency_ms);
  return {
    timeUnixNano: time,
    observedTimeUnixNano: time,
    ...(record.error_code === null ? INFO : ERROR),
    eventName: 'switchboard.request.settled',
    body: { stringValue: summaryOf(record) },
    attributes: attributesOf(
      {
        'gen_ai.operation.name': operationOf(record),
        'gen_ai.provider.name': record.supplier,
        'gen_ai.request.model': record.model,
        'gen_ai.response.model': record.served_model,
        'gen_ai.response.finish_reasons': record.finish_reason === null ? [] : [record.finish_reason],
        'gen_ai.usage.input_tokens': record.input_tokens,
        'gen_ai.usage.output_tokens': record.output_tokens,
        'gen_ai.usage.cache_read.input_tokens': record.cached_tokens,
        'http.response.status_code': record.status,
        'error.type': record.error_code,
        'session.id': record.session_id,
        'enduser.id': record.end_user,
        'switchboard.request_id': record.request_id,
        'switchboard.operation': record.operation,
        'switchboard.region': record.region,
        'switchboard.key_id': record.key_id,
        'switchboard.user_id': record.user_id,
        'switchboard.organisation_id': record.organisation_id,
        'switchboard.department_id': record.department_id,
        'switchboard.project_id': record.project_id,
        'switchboard.stream': record.stream,
        'switchboard.failover': record.failover,
        'switchboard.latency_ms': record.latency_ms,
        'switchboard.first_token_ms': record.first_token_ms,
        'switchboard.tags': record.tags,
        'switchboard.test': record.test,
      },
      { 'switchboard.cost_usd': Number(record.cost_usd) },
    ),
  };
}
