import type { Database, Tx } from '../database';
import type { MasterKey } from './master-keys';
import { headOf, packHead, packedKeyId } from './packed-secret';
import { rewrap, type SecretLocation } from './secret-box';
import type { SealedColumn } from './sealed-column';

interface RewrapSummary {
  readonly rewrapped: number;
  /** Values that the old key did not open; they stay unchanged. */
  readonly unreadable: readonly string[];
}

interface RewrapOptions {
  readonly batch?: number;
  /** Records a batch, in its transaction. */
  readonly record?: (tx: Tx, count: number) => Promise<void>;
}

const BATCH = 200;
/** Larger than everything before the ciphertext. */
const HEAD_BYTES = 512;

interface SealedRow {
  readonly at: string;
  readonly row: string;
  readonly host: string;
  readonly wrapped: Buffer;
}

/**
 * Re-encrypts the data keys of a column under another master key, without reading the secrets. Batches commit
 * separately, so an interrupted run is resumed by running it again.
 */
export async function rewrapColumn(
  database: Database,
  column: SealedColumn,
  keys: { readonly from: MasterKey; readonly to: MasterKey },
  { batch = BATCH, record }: RewrapOptions = {},
): Promise<RewrapSummary> {
  const unreadable: string[] = [];
  let rewrapped = 0;
  for (;;) {
    const { read, moved } = await database.transaction(
      async (tx) => {
        const rows = await readRowsWithKey(tx, column, keys.from, { skip: unreadable.length, batch });
        let done = 0;
        for (const row of rows) {
          if (await rewrapRow(tx, column, row, keys)) done += 1;
          else unreadable.push(`${column.table}.${column.column} of ${row.row}`);
        }
        if (done > 0) await record?.(tx, done);
        return { read: rows.length, moved: done };
      },
      { withoutActivity: 'the entry of the command is written with every batch that moved something' },
    );
    rewrapped += moved;
    if (read === 0) return { rewrapped, unreadable };
  }
}

/** Sorted in table order, so that unreadable rows stay in front. */
async function readRowsWithKey(
  tx: Tx,
  { table, column, keyIdColumn, where = 'true', place }: SealedColumn,
  { id }: MasterKey,
  { skip, batch }: { skip: number; batch: number },
): Promise<SealedRow[]> {
  const prefix = packedKeyId(id);
  const isOld =
    keyIdColumn === undefined ? `substring(t.${column} for ${prefix.length}) = $1` : `t.${keyIdColumn} = $1`;
  const rows = await tx.query<{ at: string; row: string; host: string; head: Buffer }[]>(
    `SELECT t.ctid::text AS at, ${place.row} AS row, ${place.host ?? `''`} AS host,
            substring(t.${column} for ${HEAD_BYTES}) AS head
       FROM ${table} t WHERE ${isOld} AND ${where} ORDER BY ${place.row}, t.ctid OFFSET $2 LIMIT $3 FOR UPDATE OF t`,
    [keyIdColumn === undefined ? prefix : id, skip, batch],
  );
  return rows.map(({ at, row, host, head }) => ({
    at,
    row,
    host,
    wrapped: keyIdColumn === undefined ? headOf(head).wrappedKey : head,
  }));
}

/** False if the key does not open the value. */
async function rewrapRow(
  tx: Tx,
  { table, column, keyIdColumn, place }: SealedColumn,
  { at, row, host, wrapped }: SealedRow,
  { from, to }: { readonly from: MasterKey; readonly to: MasterKey },
): Promise<boolean> {
  const where: SecretLocation = { table: place.table, row, field: place.field, host };
  const result = rewrap({ wrappedKey: wrapped }, where, from, to);
  if (!result.ok) return false;
  const { keyId, wrappedKey } = result.value;
  if (keyIdColumn !== undefined) {
    await tx.query(`UPDATE ${table} SET ${keyIdColumn} = $2, ${column} = $3 WHERE ctid = $1::tid`, [
      at,
      keyId,
      wrappedKey,
    ]);
    return true;
  }
  const before = packHead({ keyId: from.id, wrappedKey: wrapped }).length;
  await tx.query(
    `UPDATE ${table} SET ${column} = $2::bytea || substring(${column} from ${before + 1}) WHERE ctid = $1::tid`,
    [at, packHead({ keyId, wrappedKey })],
  );
  return true;
}
