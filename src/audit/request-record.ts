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

const columns = [
  ['request_id', 'uuid'],
  ['created_at', 'timestamptz'],
  ['settlement_id', 'bigint'],
  ['key_id', 'bigint'],
  ['user_id', 'bigint'],
  ['organisation_id', 'bigint'],
  ['department_id', 'bigint'],
  ['project_id', 'bigint'],
  ['wallet_id', 'bigint'],
  ['surface', 'text'],
  ['model', 'text'],
  ['served_model', 'text'],
  ['supplier', 'text'],
  ['region', 'text'],
  ['price_id', 'bigint'],
  ['input_tokens', 'integer'],
  ['cache_read_tokens', 'integer'],
  ['cache_write_tokens', 'integer'],
  ['cache_write_long_tokens', 'integer'],
  ['output_tokens', 'integer'],
  ['reasoning_tokens', 'integer'],
  ['audio_input_tokens', 'integer'],
  ['audio_output_tokens', 'integer'],
  ['image_tokens', 'integer'],
  ['calls', 'integer'],
  ['audio_milliseconds', 'integer'],
  ['usage_source', 'text'],
  ['cost_nano', 'bigint'],
  ['status', 'smallint'],
  ['code', 'text'],
  ['stream', 'boolean'],
  ['failover', 'boolean'],
  ['attempts', 'jsonb'],
  ['latency_ms', 'integer'],
  ['first_token_ms', 'integer'],
  ['finish_reason', 'text'],
  ['session_key', 'text'],
  ['dropped', 'jsonb'],
] as const;

/** As many as there are columns. */
type CellsOf<Columns extends readonly unknown[]> = { -readonly [Place in keyof Columns]: Cell };

/** In the order of the columns: written out, because a function a column takes several times as long. */
const cellsOf = (r: RequestRecord): CellsOf<typeof columns> => [
  r.requestId,
  r.createdAt.toISOString(),
  r.settlementId?.toString() ?? null,
  r.keyId,
  r.userId,
  r.organisationId,
  r.departmentId,
  r.projectId,
  r.walletId,
  r.surface,
  storableOrNull(r.model),
  r.servedModel,
  r.supplier,
  r.region,
  r.priceId,
  r.inputTokens,
  r.cacheReadTokens,
  r.cacheWriteTokens,
  r.cacheWriteLongTokens,
  r.outputTokens,
  r.reasoningTokens,
  r.audioInputTokens,
  r.audioOutputTokens,
  r.imageTokens,
  r.calls,
  r.audioMilliseconds,
  r.usageSource,
  r.costNano.toString(),
  r.status,
  r.code,
  r.stream,
  r.failover,
  r.attempts === null ? null : JSON.stringify(r.attempts),
  r.latencyMs,
  r.firstTokenMs,
  storableOrNull(r.finishReason),
  storableOrNull(r.sessionKey),
  r.dropped === null ? null : JSON.stringify(storableNames(r.dropped)),
];

const insertStatement = `
  INSERT INTO request_record (${columns.map(([name]) => name).join(', ')})
  SELECT ${columns.map(([, type], index) => `(cells->>${index})::${type}`).join(', ')}
    FROM jsonb_array_elements($1::jsonb) AS cells
  ON CONFLICT (request_id, created_at) DO NOTHING
  RETURNING request_id`;

/** Inserts what is not there yet and names it: the gate that makes a settlement happen once. */
export async function insertRequestRecords(tx: Tx, records: readonly RequestRecord[]): Promise<Set<string>> {
  if (records.length === 0) return new Set();
  // One text for all of them: an array a column costs this process several times as much.
  const cells = JSON.stringify(records.map(cellsOf));
  const rows = await tx.query<{ request_id: string }[]>(insertStatement, [cells]);
  return new Set(rows.map((row) => row.request_id));
}
