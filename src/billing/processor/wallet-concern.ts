import type { Concerned } from '../../audit';
import { readRows, type Row, type Tx } from '../../platform';

/** An entry of the activity log about a wallet concerns its owner, and the organisation of its owner. */
export async function concernsOfWallet(tx: Tx, walletId: number): Promise<Concerned> {
  const [owner] = await readRows<Row<'user_account', 'organisation_id'>>(
    tx,
    'SELECT organisation_id FROM user_account WHERE id = $1',
    [walletId],
  );
  return { userId: walletId, organisationId: owner?.organisationId ?? null };
}
