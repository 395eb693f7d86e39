import { Injectable } from '@nestjs/common';
import { fault, type UsageCounts, type UsageSource } from '../kernel';
import { Database } from '../platform';
import type { AttemptRecord } from './request-record';

/** A request record as those see it who may read it. */
export interface RequestEntry extends UsageCounts {
  readonly requestId: string;
  readonly createdAt: Date;
  readonly surface: string;
  readonly model: string | null;
  readonly servedModel: string | null;
  readonly supplier: string | null;
  readonly region: string | null;
  readonly usageSource: UsageSource | 'none';
  readonly costNano: bigint;
  readonly status: number;
  readonly code: string | null;
  readonly stream: boolean;
  readonly failover: boolean;
  readonly attempts: readonly AttemptRecord[];
  readonly latencyMs: number;
  readonly firstTokenMs: number | null;
  readonly finishReason: string | null;
  readonly sessionKey: string | null;
  readonly dropped: Readonly<Record<string, number>>;
  /** Where the page after this entry begins. */
  readonly cursor: string;
}

export interface RecordFilter {
  readonly from?: Date | null;
  /** Not included. */
  readonly to?: Date | null;
  /** As it was asked for, or as it was served. */
  readonly model?: string | null;
  readonly cursor?: string | null;
  readonly limit: number;
}

interface Row {
  request_id: string;
  created_at: Date;
  instant: string;
  surface: string;
  model: string | null;
  served_model: string | null;
  supplier: string | null;
  region: string | null;
  input_tokens: number;
  cache_read_tokens: number;
  cache_write_tokens: number;
  cache_write_long_tokens: number;
  output_tokens: number;
  reasoning_tokens: number;
  audio_input_tokens: number;
  audio_output_tokens: number;
  image_tokens: number;
  calls: number;
  audio_milliseconds: number;
  usage_source: UsageSource | 'none';
  cost_nano: string;
  status: number;
  code: string | null;
  stream: boolean;
  failover: boolean;
  attempts: AttemptRecord[] | null;
  latency_ms: number;
  first_token_ms: number | null;
  finish_reason: string | null;
  session_key: string | null;
  dropped: Record<string, number> | null;
}

/** In microseconds since 1970, as the database counts: a Date would lose the last three digits. */
const INSTANT = `(extract(epoch FROM created_at) * 1000000)::bigint::text`;
const instantOf = (parameter: string): string =>
  `timestamptz 'epoch' + ${parameter}::bigint * interval '1 microsecond'`;

const pageOf = (which: string): string => `
  SELECT *, ${INSTANT} AS instant FROM request_record
   WHERE key_id = $1 AND ${which}
     AND ($2::timestamptz IS NULL OR created_at >= $2) AND ($3::timestamptz IS NULL OR created_at < $3)
     AND ($4::bigint IS NULL OR (created_at, request_id) < (${instantOf('$4')}, $5::uuid))
   ORDER BY created_at DESC, request_id DESC LIMIT $6`;

const PAGE = pageOf('true');
/** One index knows the model that was asked for, another the one that served, where that is not the same. */
const PAGE_OF_MODEL = `
  SELECT * FROM (
    (${pageOf('model = $7')}) UNION ALL
    (${pageOf('served_model = $7 AND served_model IS DISTINCT FROM model')})) AS page
   ORDER BY created_at DESC, request_id DESC LIMIT $6`;

/** A caller may use one request id twice; the newest request of that id is meant. */
const ONE = `
  SELECT *, ${INSTANT} AS instant FROM request_record WHERE request_id = $1 AND key_id = $2
   ORDER BY created_at DESC LIMIT 1`;

const ROWS_AT_ONCE = 1_000;
const CURSOR = /^(\d{1,18})_([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

/** Reads request records page by page, along the indexes and never by counting off. */
@Injectable()
export class RequestRecordQuery {
  constructor(private readonly database: Database) {}

  /** The newest first. */
  async ofKey(keyId: number, filter: RecordFilter): Promise<RequestEntry[]> {
    const [instant, requestId] = readCursor(filter.cursor ?? null);
    const { from, to, model, limit } = filter;
    const parameters = [keyId, from ?? null, to ?? null, instant, requestId, limit];
    const rows =
      model === null || model === undefined
        ? await this.database.query<Row>(PAGE, parameters)
        : await this.database.query<Row>(PAGE_OF_MODEL, [...parameters, model]);
    return rows.map(entryOf);
  }

  /** The same, in one go over as many pages as there are. */
  async *allOfKey(keyId: number, filter: RecordFilter): AsyncGenerator<RequestEntry> {
    let cursor = filter.cursor ?? null;
    for (let left = filter.limit; left > 0;) {
      const limit = Math.min(left, ROWS_AT_ONCE);
      const page = await this.ofKey(keyId, { ...filter, cursor, limit });
      yield* page;
      left -= page.length;
      cursor = page.at(-1)?.cursor ?? null;
      if (page.length < limit) return;
    }
  }

  async ofRequest(keyId: number, requestId: string): Promise<RequestEntry | null> {
    const [row] = await this.database.query<Row>(ONE, [requestId, keyId]);
    return row === undefined ? null : entryOf(row);
  }
}

function readCursor(text: string | null): [instant: string | null, requestId: string | null] {
  if (text === null) return [null, null];
  const [, instant, requestId] = CURSOR.exec(text) ?? [];
  if (instant === undefined || requestId === undefined) {
    throw fault('invalid_request', {
      param: 'cursor',
      message: 'cursor must be the next_cursor of an earlier page.',
    });
  }
  return [instant, requestId];
}

const entryOf = (row: Row): RequestEntry => ({
  requestId: row.request_id,
  createdAt: row.created_at,
  surface: row.surface,
  model: row.model,
  servedModel: row.served_model,
  supplier: row.supplier,
  region: row.region,
  inputTokens: row.input_tokens,
  cacheReadTokens: row.cache_read_tokens,
  cacheWriteTokens: row.cache_write_tokens,
  cacheWriteLongTokens: row.cache_write_long_tokens,
  outputTokens: row.output_tokens,
  reasoningTokens: row.reasoning_tokens,
  audioInputTokens: row.audio_input_tokens,
  audioOutputTokens: row.audio_output_tokens,
  imageTokens: row.image_tokens,
  calls: row.calls,
  audioMilliseconds: row.audio_milliseconds,
  usageSource: row.usage_source,
  costNano: BigInt(row.cost_nano),
  status: row.status,
  code: row.code,
  stream: row.stream,
  failover: row.failover,
  attempts: row.attempts ?? [],
  latencyMs: row.latency_ms,
  firstTokenMs: row.first_token_ms,
  finishReason: row.finish_reason,
  sessionKey: row.session_key,
  dropped: row.dropped ?? {},
  cursor: `${row.instant}_${row.request_id}`,
});
