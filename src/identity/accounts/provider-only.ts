import { fault } from '../../kernel';
import type { Tx } from '../../platform';
import { LinkedIdentity } from './linked-identity.entity';
import { signsInByProviderOnly } from './user-account.query';

/** Throws the same error on every route that sets or requires a password. */
export async function refuseProviderOnly(tx: Pick<Tx, 'query'>, userId: number): Promise<void> {
  if (await signsInByProviderOnly(tx, userId)) throw fault('sso_only');
}

export const hasLinkedIdentity = (tx: Tx, userId: number): Promise<boolean> =>
  tx.getRepository(LinkedIdentity).existsBy({ userId });
