import type { UsageCounts, UsageSource } from '../kernel';
import type { Tx } from '../platform';

export interface AttemptRecord {
  readonly supplier: string;
  readonly region: string | null;
  readonly model: string;
  readonly status: number | null;
  readonly milliseconds: number;
  readonly outcome: string;
}

/** Who a request belongs to; every id may be unknown when the request was refused before it was known. */
export interface Attribution {
  readonly keyId: number | null;
  readonly userId: number | null;
  readonly organisationId: number | null;
  readonly departmentId: number | null;
  readonly projectId: number | null;
  readonly walletId: number | null;
}

/** The audit row of one request: no text of it, only what happened and what it cost. */
export interface RequestRecord extends Attribution, UsageCounts {
  readonly requestId: string;
  readonly createdAt: Date;
  readonly settlementId: bigint | null;
  readonly surface: string;
  readonly model: string | null;
  readonly servedModel: string | null;
  readonly supplier: string | null;
  readonly region: string | null;
  readonly priceId: number | null;
  /** `none`: refused or failed before anything could be used. */
  readonly usageSource: UsageSource | 'none';
  readonly costNano: bigint;
  readonly status: number;
  readonly code: string | null;
  readonly stream: boolean;
  readonly failover: boolean;
  readonly attempts: readonly AttemptRecord[] | null;
  readonly latencyMs: number;
  readonly firstTokenMs: number | null;
  readonly finishReason: string | null;
  readonly sessionKey: string | null;
  /** Fields that a translation lost, and how often each; null when nothing was. */
  readonly dropped: Readonly<Record<string, number>> | null;
}

type Cell = string | number | boolean | null;

interface Column {
  readonly name: string;
  readonly type: string;
  readonly read: (record: RequestRecord) => Cell;
}

const LONGEST_TEXT = 256;
const MOST_DROPPED = 100;

/**
 * A text that callers or suppliers chose, as it can be stored: nobody may go unrecorded, and so uncharged, by sending
 * a NUL or half a surrogate pair.
 */
const storable = (text: string): string =>
  text.slice(0, LONGEST_TEXT).replaceAll('\0', '\ufffd').toWellFormed();

const storableOrNull = (text: string | null): string | null => (text === null ? null : storable(text));

/** Names of fields are the caller's as well, and there may be any number of them. */
const storableNames = (counts: Readonly<Record<string, number>>): Record<string, number> =>
  Object.fromEntries(
    Object.entries(counts)
      .slice(0, MOST_DROPPED)
      .map(([name, count]) => [storable(name), count]),
  );

const column = (name: string, type: string, read: Column['read']): Column => ({ name, type, read });

const columns: readonly Column[] = [
  column('request_id', 'uuid', (r) => r.requestId),
  column('created_at', 'timestamptz', (r) => r.createdAt.toISOString()),
  column('settlement_id', 'bigint', (r) => r.settlementId?.toString() ?? null),
  column('key_id', 'bigint', (r) => r.keyId),
  column('user_id', 'bigint', (r) => r.userId),
  column('organisation_id', 'bigint', (r) => r.organisationId),
  column('department_id', 'bigint', (r) => r.departmentId),
  column('project_id', 'bigint', (r) => r.projectId),
  column('wallet_id', 'bigint', (r) => r.walletId),
  column('surface', 'text', (r) => r.surface),
  column('model', 'text', (r) => storableOrNull(r.model)),
  column('served_model', 'text', (r) => r.servedModel),
  column('supplier', 'text', (r) => r.supplier),
  column('region', 'text', (r) => r.region),
  column('price_id', 'bigint', (r) => r.priceId),
  column('input_tokens', 'integer', (r) => r.inputTokens),
  column('cache_read_tokens', 'integer', (r) => r.cacheReadTokens),
  column('cache_write_tokens', 'integer', (r) => r.cacheWriteTokens),
  column('cache_write_long_tokens', 'integer', (r) => r.cacheWriteLongTokens),
  column('output_tokens', 'integer', (r) => r.outputTokens),
  column('reasoning_tokens', 'integer', (r) => r.reasoningTokens),
  column('audio_input_tokens', 'integer', (r) => r.audioInputTokens),
  column('audio_output_tokens', 'integer', (r) => r.audioOutputTokens),
  column('image_tokens', 'integer', (r) => r.imageTokens),
  column('calls', 'integer', (r) => r.calls),
  column('audio_milliseconds', 'integer', (r) => r.audioMilliseconds),
  column('usage_source', 'text', (r) => r.usageSource),
  column('cost_nano', 'bigint', (r) => r.costNano.toString()),
  column('status', 'smallint', (r) => r.status),
  column('code', 'text', (r) => r.code),
  column('stream', 'boolean', (r) => r.stream),
  column('failover', 'boolean', (r) => r.failover),
  column('attempts', 'jsonb', (r) => (r.attempts === null ? null : JSON.stringify(r.attempts))),
  column('latency_ms', 'integer', (r) => r.latencyMs),
  column('first_token_ms', 'integer', (r) => r.firstTokenMs),
  column('finish_reason', 'text', (r) => storableOrNull(r.finishReason)),
  column('session_key', 'text', (r) => storableOrNull(r.sessionKey)),
  column('dropped', 'jsonb', (r) => (r.dropped === null ? null : JSON.stringify(storableNames(r.dropped)))),
];

const insertStatement = `
  INSERT INTO request_record (${columns.map((c) => c.name).join(', ')})
  SELECT ${columns.map((c, index) => `(cells->>${index})::${c.type}`).join(', ')}
    FROM jsonb_array_elements($1::jsonb) AS cells
  ON CONFLICT (request_id, created_at) DO NOTHING
  RETURNING request_id`;

/** Inserts what is not there yet and names it: the gate that makes a settlement happen once. */
export async function insertRequestRecords(tx: Tx, records: readonly RequestRecord[]): Promise<Set<string>> {
  if (records.length === 0) return new Set();
  // One text for all of them: an array a column costs this process several times as much.
  const cells = JSON.stringify(records.map((record) => columns.map((c) => c.read(record))));
  const rows = await tx.query<{ request_id: string }[]>(insertStatement, [cells]);
  return new Set(rows.map((row) => row.request_id));
}
