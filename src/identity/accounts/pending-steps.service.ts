import { Injectable } from '@nestjs/common';
import { ActivityLog } from '../../audit';
import { readRows, type TableRow, type Tx } from '../../platform';
import { actorOf } from '../activity-actor';
import { UserAccount } from '../user-account.entity';
import { AccountTokens } from './account-tokens.service';

const ENDED_COLUMNS = 'id, email, organisation_id, department_id';

/**
 * Steps that a user has started and not finished. A change of credentials ends them, because somebody else might have
 * started them.
 */
@Injectable()
export class PendingSteps {
  constructor(
    private readonly tokens: AccountTokens,
    private readonly activity: ActivityLog,
  ) {}

  async end(tx: Tx, userId: number): Promise<void> {
    await this.tokens.revokePending(tx, userId);
    const endedInvites = await readRows<TableRow<'invite', typeof ENDED_COLUMNS>>(
      tx,
      `UPDATE invite SET revoked_at = now()
        WHERE invited_by = $1 AND accepted_at IS NULL AND revoked_at IS NULL AND expires_at > now()
        RETURNING ${ENDED_COLUMNS}`,
      [userId],
    );
    if (endedInvites.length === 0) return;
    const account = await tx.getRepository(UserAccount).findOneByOrFail({ id: userId });
    for (const { id, email, organisationId, departmentId } of endedInvites)
      await this.activity.write(tx, {
        action: 'invite.revoked',
        object: { type: 'invite', id, label: email },
        actor: actorOf(account),
        concerns: { organisationId, departmentId },
      });
  }
}
