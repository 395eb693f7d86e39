import type { ActivitySubject } from '../../audit';
import { readRows, type TableRow, type Tx } from '../../platform';

export async function concernsOfWallet(tx: Tx, walletId: number): Promise<ActivitySubject> {
  const [owner] = await readRows<TableRow<'user_account', 'organisation_id'>>(
    tx,
    'SELECT organisation_id FROM user_account WHERE id = $1',
    [walletId],
  );
  return { userId: walletId, organisationId: owner?.organisationId ?? null };
}
