import { type Actor, fault, canGrant } from '../../kernel';
import type { Tx } from '../../platform';
import { UserAccount } from '../user-account.entity';

/**
 * Prevents spending in the name of a superior, with their key or from their wallet. The caller has found the user
 * within the actor's scope, because the refusal reveals a role.
 */
export async function refuseSuperior(
  tx: Tx,
  actor: Pick<Actor, 'userId' | 'role'>,
  userId: number | null,
  param?: string,
): Promise<void> {
  if (userId === null || userId === actor.userId) return;
  const lock = { mode: 'for_key_share' } as const;
  const user = await tx.getRepository(UserAccount).findOne({ where: { id: userId }, lock });
  if (user === null || canGrant(actor.role, user.role)) return;
  throw fault('permission_denied', {
    ...(param === undefined ? {} : { param }),
    message: `This needs the role ${user.role}.`,
    details: { reason: 'role', role: user.role },
  });
}
