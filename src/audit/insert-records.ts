import type { Tx } from '../platform';
import { columns, type RecordField, recordFields } from './record-columns';
import type { WrittenRecord } from './written-record';

function valueOf(field: RecordField): string {
  const place = columns.findIndex((column) => column.field === field);
  const { sqlType } = columns[place]!;
  if (sqlType === 'timestamptz') return `to_timestamp((cells->>${place})::double precision / 1000)`;
  if (sqlType === 'jsonb') return `nullif(cells->${place}, 'null')`;
  return `(cells->>${place})::${sqlType}`;
}

/** A record with a cost is inserted with the settlement of its wallet instead. */
const settlement = `
  CASE WHEN ${valueOf('costNano')} <> 0
       THEN ($2::jsonb->>(${valueOf('walletId')})::text)::bigint END`;

const statement = (more: string): string => `
  WITH given AS (
    SELECT cells, place FROM jsonb_array_elements($1::jsonb) WITH ORDINALITY AS given (cells, place)
  ), inserted AS (
    INSERT INTO request_record (settlement_id, ${columns.map(({ name }) => name).join(', ')})
    SELECT ${settlement}, ${recordFields.map(valueOf).join(', ')} FROM given
        ON CONFLICT (request_id, created_at) DO NOTHING
    RETURNING key_id, request_id, created_at
  )${more}
  SELECT (SELECT count(*)::integer FROM inserted) AS inserted,
         (SELECT coalesce(jsonb_agg(place - 1), '[]') FROM given
           WHERE (${valueOf('requestId')}, ${valueOf('createdAt')})
          NOT IN (SELECT request_id, created_at FROM inserted)) AS known`;

const untold = statement('');

/** The entry for taps and the record are written together, or neither is. */
const told = statement(`, told AS (
    INSERT INTO tap_outbox (key_id, request_id, created_at) SELECT key_id, request_id, created_at FROM inserted
  )`);

export interface InsertOptions {
  /** The transaction of the ledger that charges each wallet. */
  readonly settlementOf?: ReadonlyMap<number, bigint>;
  /** Whether taps are told of them. */
  readonly isTapped?: boolean;
}

/**
 * Inserts new records and returns the indexes of those that existed: this gate makes a settlement happen once. The
 * database parses the journal's own texts.
 */
export async function insertRequestRecords(
  tx: Tx,
  records: readonly WrittenRecord[],
  { settlementOf = new Map(), isTapped = false }: InsertOptions = {},
): Promise<Set<number>> {
  const settlements = Object.fromEntries([...settlementOf].map(([wallet, id]) => [wallet, id.toString()]));
  const parameters = [`[${records.map(({ text }) => text).join(',')}]`, JSON.stringify(settlements)];
  const rows = await tx.query<{ inserted: number; known: number[] }[]>(isTapped ? told : untold, parameters);
  const { inserted, known } = rows[0]!;
  const all = inserted + known.length === records.length;
  return new Set(all ? known : [...known, ...repeated(records)]);
}

/** A record that stands twice in the batch was inserted once. */
function repeated(records: readonly WrittenRecord[]): number[] {
  const keys = records.map(({ requestId, createdMs }) => `${requestId} ${createdMs}`);
  return [...keys.keys()].filter((place) => keys.indexOf(keys[place]!) !== place);
}
