import type { Database, TableRow, Tx } from '../../../platform';
import { hashOfBlock, type SignedHead } from '../block';

/** `new`: blocks that no check has seen. `again`: verified blocks, rechecked from the first one in repeated rounds. */
export type CheckPass = 'new' | 'again';

export interface CheckedChain {
  readonly chain: number;
  readonly number: number;
  readonly hash: Buffer;
  readonly againNumber: number;
  readonly againHash: Buffer | null;
}

const COLUMNS = 'chain, number, hash, again_number, again_hash';

export async function listCheckedChains(database: Database): Promise<CheckedChain[]> {
  const rows = await database.rows<TableRow<'audit_check', typeof COLUMNS>>(
    `SELECT ${COLUMNS} FROM audit_check ORDER BY again_at, chain`,
  );
  return rows.map((row) => ({ ...row, number: Number(row.number), againNumber: Number(row.againNumber) }));
}

const NEW = `
  INSERT INTO audit_check (chain, number, hash) VALUES ($1, $2, $3)
  ON CONFLICT ON CONSTRAINT audit_check_pkey
  DO UPDATE SET number = excluded.number, hash = excluded.hash, checked_at = now()`;
const AGAIN = 'UPDATE audit_check SET again_number = $2, again_hash = $3, again_at = now() WHERE chain = $1';

export async function saveChecked(tx: Tx, pass: CheckPass, head: SignedHead): Promise<void> {
  await tx.query(pass === 'new' ? NEW : AGAIN, [head.chain, head.number, hashOfBlock(head)]);
}

export async function signersOfChecked(database: Database): Promise<Buffer[]> {
  const rows = await database.query<TableRow<'activity_block', 'signer'>>(
    `SELECT DISTINCT b.signer FROM audit_check c JOIN activity_block b ON b.chain = c.chain AND b.number = c.number`,
  );
  return rows.map(({ signer }) => signer);
}

export async function restartRecheck(tx: Tx, chain: number): Promise<void> {
  await tx.query(
    'UPDATE audit_check SET again_number = 0, again_hash = NULL, again_at = now() WHERE chain = $1',
    [chain],
  );
}

/** The last block of a chain that retention emptied, by its log entry. */
export async function forgottenUpTo(tx: Tx, chain: number): Promise<number> {
  const [row] = await tx.query<{ last: string | null }[]>(
    `SELECT max((changes -> 'blocks_up_to' ->> 1)::bigint)::text AS last FROM activity
      WHERE object_type = 'log' AND object_id IS NULL AND action = 'log.forgotten'
        AND coalesce(organisation_id, 0) = $1`,
    [chain],
  );
  return Number(row?.last ?? 0);
}
