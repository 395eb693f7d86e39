import type { SettledRecord } from '#extension';
import { HOUR_MS } from '../../../kernel';
import type { OutgoingClient, PostSinkSetting } from '../../../platform';
import { SinkFailure } from '../failure';
import type { Sink } from '../registered-tap';
import { summaryOf } from './otlp';
import { jsonIn, post, refusal } from './post';

// Datadog API documentation, "Send logs": limits for a request before compression, and for the age of a log.
const MAX_BODY_BYTES = 5_000_000;
const MAX_LOG_AGE_MS = 18 * HOUR_MS;
const AGE_MARGIN_MS = HOUR_MS;

const kinds = { 400: 'content', 413: 'content', 429: 'busy', 503: 'busy' } as const;

export const datadogSink = (
  { name, url, batch, timeoutMs, everyMs }: PostSinkSetting,
  key: string,
  outgoing: OutgoingClient,
): Sink => ({
  ...{ name, kind: 'datadog', target: url, batchSize: batch, timeoutMs, everyMs },
  async send(records, signal) {
    const body = JSON.stringify(records.map((record) => logOf(record, Date.now())));
    if (records.length > 1 && Buffer.byteLength(body) > MAX_BODY_BYTES)
      throw new SinkFailure('content', 'these records are more than one request may have');
    const response = await post(outgoing, { url, headers: { 'dd-api-key': key }, body, timeoutMs, signal });
    const { status } = response;
    if (status !== 202 && status !== 200) throw refusal(response, kinds);
    if (jsonIn(response) === undefined)
      throw new SinkFailure('unknown', `it answered ${status} with something that is not from Datadog`);
    return String(status);
  },
});

/** Uses Datadog's reserved attributes; the record itself is added next to them. */
function logOf(record: SettledRecord, now: number) {
  const { created_at: createdAt, latency_ms: latency, error_code: code, end_user: user } = record;
  const endedAt = Date.parse(createdAt) + latency;
  // Datadog drops logs with an older time.
  const isOld = now - endedAt > MAX_LOG_AGE_MS - AGE_MARGIN_MS;
  return {
    ddsource: 'switchboard',
    service: 'switchboard',
    message: summaryOf(record),
    status: code === null ? 'info' : 'error',
    timestamp: new Date(isOld ? now : endedAt).toISOString(),
    duration: latency * 1_000_000,
    http: { status_code: record.status },
    ...(code === null ? {} : { error: { kind: code } }),
    ...(user === null ? {} : { usr: { id: user } }),
    switchboard: { ...record, cost_usd: Number(record.cost_usd) },
  };
}
