import { type Database, readRows, type TableRow, type Tx } from '../../platform';
import type { BlockList, SignedHead } from './block';
import { LINE_COLUMNS, type ActivityLineRow } from './entry-line';

export interface WaitingEntry extends ActivityLineRow {
  readonly chain: number;
}

type HeadRow = TableRow<'activity_block', typeof OWN_COLUMNS> & {
  readonly first: string;
  readonly count: number;
};

const OWN_COLUMNS = 'version, chain, number, root, previous, sealed_at, signer, signature';
const HEAD_COLUMNS = `${OWN_COLUMNS}, first_position AS first, entry_count AS count`;

const WAITING = `
  SELECT COALESCE(organisation_id, 0) AS chain, ${LINE_COLUMNS}
    FROM (SELECT entry_id FROM activity_unsealed ORDER BY entry_id LIMIT $1) AS waiting
    JOIN activity ON id = waiting.entry_id ORDER BY waiting.entry_id`;

export const waitingEntries = (tx: Tx, limit: number): Promise<WaitingEntry[]> =>
  tx.query<WaitingEntry[]>(WAITING, [limit]);

/** Last block of a chain. Its hash was computed at sealing: an altered head has another. */
export interface LastBlock {
  readonly head: SignedHead;
  readonly hash: Buffer;
}

export async function lastBlocks(tx: Tx, chains: readonly number[]): Promise<Map<number, LastBlock>> {
  const rows = await readRows<HeadRow & { hash: Buffer }>(
    tx,
    `SELECT newest.* FROM unnest($1::integer[]) AS wanted (chain_number),
       LATERAL (SELECT ${HEAD_COLUMNS}, hash FROM activity_block WHERE chain = wanted.chain_number
                ORDER BY number DESC LIMIT 1) AS newest`,
    [chains],
  );
  return new Map(rows.map((row) => [row.chain, { head: headOf(row), hash: row.hash }]));
}

export async function allHeads(reader: Pick<Database, 'query'>): Promise<SignedHead[]> {
  const rows = await readRows<HeadRow>(
    reader,
    `
    WITH RECURSIVE chains AS (
      (SELECT chain FROM activity_block ORDER BY chain LIMIT 1)
      UNION ALL
      SELECT (SELECT chain FROM activity_block b WHERE b.chain > c.chain ORDER BY chain LIMIT 1)
        FROM chains c WHERE c.chain IS NOT NULL)
    SELECT newest.* FROM chains, LATERAL (SELECT ${HEAD_COLUMNS} FROM activity_block b WHERE b.chain = chains.chain
      ORDER BY number DESC LIMIT 1) AS newest ORDER BY chain`,
  );
  return rows.map(headOf);
}

/** The heads sealed since an instant, oldest first, so that a later head of a chain replaces an earlier one. */
export async function headsSince(reader: Pick<Database, 'query'>, since: Date): Promise<SignedHead[]> {
  const rows = await readRows<HeadRow>(
    reader,
    `SELECT DISTINCT ON (chain) ${HEAD_COLUMNS} FROM activity_block WHERE sealed_at >= $1
      ORDER BY chain, number DESC`,
    [since],
  );
  return rows.map(headOf);
}

export async function headsAt(
  reader: Pick<Database, 'query'>,
  positions: readonly Pick<SignedHead, 'chain' | 'number'>[],
): Promise<SignedHead[]> {
  const rows = await readRows<HeadRow>(
    reader,
    `SELECT ${HEAD_COLUMNS} FROM activity_block
       JOIN unnest($1::integer[], $2::bigint[]) AS place (c, n) ON chain = c AND number = n`,
    [positions.map(({ chain }) => chain), positions.map(({ number }) => number)],
  );
  return rows.map(headOf);
}

export async function addBlock(tx: Tx, head: SignedHead, hash: Buffer, list: BlockList): Promise<void> {
  await tx.query(
    'SELECT add_activity_block($1, $2, $3::smallint, $4, $5, $6, $7, $8, $9, $10, $11::bigint[], $12)',
    [
      head.chain,
      head.number,
      head.version,
      head.first,
      head.root,
      head.previous,
      head.sealedAt,
      head.signer,
      head.signature,
      hash,
      list.entries,
      Buffer.concat(list.digests),
    ],
  );
}

export interface StoredBlock {
  readonly head: SignedHead;
  /** Null once retention has emptied the block. */
  readonly entries: readonly number[] | null;
  readonly digests: Buffer | null;
}

export async function blocksAfter(
  reader: Pick<Database, 'query'>,
  range: { readonly chain: number; readonly after: number; readonly upTo: number; readonly most: number },
): Promise<StoredBlock[]> {
  const { chain, after, upTo, most } = range;
  const rows = await readRows<HeadRow & TableRow<'activity_block', 'entries, digests'>>(
    reader,
    `SELECT ${HEAD_COLUMNS}, entries, digests FROM activity_block
      WHERE chain = $1 AND number > $2 AND number <= $3 ORDER BY number LIMIT $4`,
    [chain, after, upTo, most],
  );
  return rows.map((row) => ({
    head: headOf(row),
    entries: row.entries?.map(Number) ?? null,
    digests: row.digests,
  }));
}

export const linesOf = (
  reader: Pick<Database, 'query'>,
  entries: readonly number[],
): Promise<ActivityLineRow[]> =>
  reader.query<ActivityLineRow>(`SELECT ${LINE_COLUMNS} FROM activity WHERE id = ANY ($1::bigint[])`, [
    entries,
  ]);

const headOf = (row: HeadRow): SignedHead => ({
  version: row.version,
  chain: row.chain,
  number: Number(row.number),
  first: Number(row.first),
  count: row.count,
  root: row.root,
  previous: row.previous,
  sealedAt: row.sealedAt.toISOString(),
  signer: row.signer,
  signature: row.signature,
});
