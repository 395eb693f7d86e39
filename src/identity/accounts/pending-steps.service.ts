import { Injectable } from '@nestjs/common';
import { ActivityLog } from '../../audit';
import { readRows, type Row, type Tx } from '../../platform';
import { actorOf } from '../activity-actor';
import { UserAccount } from '../user-account.entity';
import { AccountTokens } from './account-tokens.service';

const ENDED = 'id, email, organisation_id, department_id';

/**
 * A step is something that a person began and has not ended. A change of credentials ends it: somebody else
 * may have begun it.
 */
@Injectable()
export class PendingSteps {
  constructor(
    private readonly tokens: AccountTokens,
    private readonly activity: ActivityLog,
  ) {}

  async end(tx: Tx, userId: number): Promise<void> {
    await this.tokens.revokePending(tx, userId);
    const ended = await readRows<Row<'invite', typeof ENDED>>(
      tx,
      `UPDATE invite SET revoked_at = now()
        WHERE invited_by = $1 AND accepted_at IS NULL AND revoked_at IS NULL AND expires_at > now()
        RETURNING ${ENDED}`,
      [userId],
    );
    if (ended.length === 0) return;
    const account = await tx.getRepository(UserAccount).findOneByOrFail({ id: userId });
    for (const { id, email, organisationId, departmentId } of ended)
      await this.activity.write(tx, {
        action: 'invite.revoked',
        object: { type: 'invite', id, label: email },
        actor: actorOf(account),
        concerns: { organisationId, departmentId },
      });
  }
}
