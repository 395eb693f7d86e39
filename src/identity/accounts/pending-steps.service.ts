import { Injectable } from '@nestjs/common';
import { ActivityLog } from '../../audit';
import type { Tx } from '../../platform';
import { actorOf } from '../activity-actor';
import { UserAccount } from '../user-account.entity';
import { AccountTokens } from './account-tokens.service';
import { revokeInvitesBy } from './invite.store';

/** Steps that a user has started and not finished. A change of credentials ends them, as they might be an intruder's. */
@Injectable()
export class PendingSteps {
  constructor(
    private readonly tokens: AccountTokens,
    private readonly activity: ActivityLog,
  ) {}

  async end(tx: Tx, userId: number): Promise<void> {
    await this.tokens.revokePending(tx, userId);
    const endedInvites = await revokeInvitesBy(tx, userId);
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
