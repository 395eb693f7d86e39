import type { Tx } from '../platform';
import { columns, type RecordField, recordFields } from './record-columns';
import type { WrittenRecord } from './written-record';

function valueOf(field: RecordField): string {
  const index = columns.findIndex((column) => column.field === field);
  const { sqlType } = columns[index]!;
  if (sqlType === 'timestamptz') return `to_timestamp((cells->>${index})::double precision / 1000)`;
  if (sqlType === 'jsonb') return `nullif(cells->${index}, 'null')`;
  return `(cells->>${index})::${sqlType}`;
}

const settlement = `
  CASE WHEN ${valueOf('costNano')} <> 0
       THEN ($2::jsonb->>(${valueOf('walletId')})::text)::bigint END`;

const statement = (extraClause: string): string => `
  WITH given AS (
    SELECT cells, place FROM jsonb_array_elements($1::jsonb) WITH ORDINALITY AS given (cells, place)
  ), inserted AS (
    INSERT INTO request_record (settlement_id, ${columns.map(({ name }) => name).join(', ')})
    SELECT ${settlement}, ${recordFields.map(valueOf).join(', ')} FROM given
        ON CONFLICT (request_id, created_at) DO NOTHING
    RETURNING key_id, request_id, created_at
  )${extraClause}
  SELECT (SELECT count(*)::integer FROM inserted) AS inserted,
         (SELECT coalesce(jsonb_agg(place - 1), '[]') FROM given
           WHERE (${valueOf('requestId')}, ${valueOf('createdAt')})
          NOT IN (SELECT request_id, created_at FROM inserted)) AS known`;

const insertOnly = statement('');

const insertForTaps = statement(`, told AS (
    INSERT INTO tap_outbox (key_id, request_id, created_at) SELECT key_id, request_id, created_at FROM inserted
  )`);

export interface InsertOptions {
  /** Ledger transaction that charges each wallet. */
  readonly settlementOf?: ReadonlyMap<number, bigint>;
  readonly isTapped?: boolean;
}

/**
 * Inserts new records and returns the indexes of those that already existed, so that each is settled once. The database
 * parses the journal's own texts.
 */
export async function insertRequestRecords(
  tx: Tx,
  records: readonly WrittenRecord[],
  { settlementOf = new Map(), isTapped = false }: InsertOptions = {},
): Promise<Set<number>> {
  const settlements = Object.fromEntries([...settlementOf].map(([wallet, id]) => [wallet, id.toString()]));
  const parameters = [`[${records.map(({ text }) => text).join(',')}]`, JSON.stringify(settlements)];
  const rows = await tx.query<{ inserted: number; known: number[] }[]>(
    isTapped ? insertForTaps : insertOnly,
    parameters,
  );
  const { inserted, known } = rows[0]!;
  const isComplete = inserted + known.length === records.length;
  return new Set(isComplete ? known : [...known, ...repeatedIndexes(records)]);
}

/** A record that occurs twice in the batch was inserted once. */
function repeatedIndexes(records: readonly WrittenRecord[]): number[] {
  const keys = records.map(({ requestId, createdMs }) => `${requestId} ${createdMs}`);
  return [...keys.keys()].filter((index) => keys.indexOf(keys[index]!) !== index);
}
