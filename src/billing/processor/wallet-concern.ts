import type { Concerned } from '../../audit';
import type { Tx } from '../../platform';

/** An entry of the activity log about a wallet concerns its owner, and the organisation of its owner. */
export async function concernsOfWallet(tx: Tx, walletId: number): Promise<Concerned> {
  const [owner] = await tx.query<{ organisation_id: number | null }[]>(
    'SELECT organisation_id FROM user_account WHERE id = $1',
    [walletId],
  );
  return { userId: walletId, organisationId: owner?.organisation_id ?? null };
}
