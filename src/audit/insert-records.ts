import type { Tx } from '../platform';
import type { RecordSheaf } from './record-sheaf';
import { recordFields } from './written-record';

type Column = readonly [name: string, type: string];

const columnOf: Readonly<Record<(typeof recordFields)[number], Column>> = {
  requestId: ['request_id', 'uuid'],
  createdAt: ['created_at', 'timestamptz'],
  costNano: ['cost_nano', 'bigint'],
  keyId: ['key_id', 'bigint'],
  userId: ['user_id', 'bigint'],
  organisationId: ['organisation_id', 'bigint'],
  departmentId: ['department_id', 'bigint'],
  projectId: ['project_id', 'bigint'],
  walletId: ['wallet_id', 'bigint'],
  surface: ['surface', 'text'],
  model: ['model', 'text'],
  servedModel: ['served_model', 'text'],
  supplier: ['supplier', 'text'],
  region: ['region', 'text'],
  priceId: ['price_id', 'bigint'],
  inputTokens: ['input_tokens', 'integer'],
  cacheReadTokens: ['cache_read_tokens', 'integer'],
  cacheWriteTokens: ['cache_write_tokens', 'integer'],
  cacheWriteLongTokens: ['cache_write_long_tokens', 'integer'],
  outputTokens: ['output_tokens', 'integer'],
  reasoningTokens: ['reasoning_tokens', 'integer'],
  audioInputTokens: ['audio_input_tokens', 'integer'],
  audioOutputTokens: ['audio_output_tokens', 'integer'],
  imageTokens: ['image_tokens', 'integer'],
  calls: ['calls', 'integer'],
  audioMilliseconds: ['audio_milliseconds', 'integer'],
  usageSource: ['usage_source', 'text'],
  status: ['status', 'smallint'],
  code: ['code', 'text'],
  stream: ['stream', 'boolean'],
  failover: ['failover', 'boolean'],
  attempts: ['attempts', 'jsonb'],
  latencyMs: ['latency_ms', 'integer'],
  firstTokenMs: ['first_token_ms', 'integer'],
  finishReason: ['finish_reason', 'text'],
  sessionKey: ['session_key', 'text'],
  dropped: ['dropped', 'jsonb'],
};

function valueOf(field: (typeof recordFields)[number]): string {
  const [, type] = columnOf[field];
  const place = recordFields.indexOf(field);
  if (type === 'timestamptz') return `to_timestamp((cells->>${place})::double precision / 1000)`;
  if (type === 'jsonb') return `nullif(cells->${place}, 'null')`;
  return `(cells->>${place})::${type}`;
}

/** A record that costs something belongs to the settlement of its wallet. */
const settlement = `
  CASE WHEN ${valueOf('costNano')} <> 0
       THEN ($2::jsonb->>(${valueOf('walletId')})::text)::bigint END`;

const insertStatement = `
  WITH given AS (
    SELECT cells, place FROM jsonb_array_elements($1::jsonb) WITH ORDINALITY AS given (cells, place)
  ), inserted AS (
    INSERT INTO request_record (settlement_id, ${recordFields.map((field) => columnOf[field][0]).join(', ')})
    SELECT ${settlement}, ${recordFields.map(valueOf).join(', ')} FROM given
        ON CONFLICT (request_id, created_at) DO NOTHING
    RETURNING request_id, created_at
  )
  SELECT (SELECT count(*)::integer FROM inserted) AS inserted,
         (SELECT coalesce(jsonb_agg(place - 1), '[]') FROM given
           WHERE (${valueOf('requestId')}, ${valueOf('createdAt')})
          NOT IN (SELECT request_id, created_at FROM inserted)) AS known`;

/**
 * Inserts what is not there yet, and answers the places of the records that were: the gate that makes a settlement
 * happen once. The journal's own texts are what the database reads.
 */
export async function insertRequestRecords(
  tx: Tx,
  records: RecordSheaf,
  settlementOf: ReadonlyMap<number, bigint> = new Map(),
): Promise<Set<number>> {
  const settlements = Object.fromEntries([...settlementOf].map(([wallet, id]) => [wallet, id.toString()]));
  const parameters = [records.cells, JSON.stringify(settlements)];
  const rows = await tx.query<{ inserted: number; known: number[] }[]>(insertStatement, parameters);
  const { inserted, known } = rows[0]!;
  const all = inserted + known.length === records.length;
  return new Set(all ? known : [...known, ...repeated(records)]);
}

/** A record that stands there twice was inserted once. */
function repeated(records: RecordSheaf): number[] {
  const keys = Array.from(records, ({ requestId, createdMs }) => `${requestId} ${createdMs}`);
  return [...keys.keys()].filter((place) => keys.indexOf(keys[place]!) !== place);
}
