import { type Actor, fault, mayGrant } from '../../kernel';
import type { Row, Tx } from '../../platform';

/**
 * No one spends in the name of a person above them, with a key of theirs or from their wallet. The caller has found
 * the person within the actor's scope: the refusal tells a role.
 */
export async function refuseSuperior(
  tx: Tx,
  actor: Pick<Actor, 'userId' | 'role'>,
  userId: number | null,
  param?: string,
): Promise<void> {
  if (userId === null || userId === actor.userId) return;
  const [found] = await tx.query<Row<'user_account', 'role'>[]>(
    'SELECT role FROM user_account WHERE id = $1 FOR KEY SHARE',
    [userId],
  );
  if (found === undefined || mayGrant(actor.role, found.role)) return;
  throw fault('permission_denied', {
    ...(param === undefined ? {} : { param }),
    message: `This needs the role ${found.role}.`,
    details: { reason: 'role', role: found.role },
  });
}
