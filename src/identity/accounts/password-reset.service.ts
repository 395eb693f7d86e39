import { Injectable } from '@nestjs/common';
import { fault } from '../../kernel';
import { ActivityLog } from '../../audit';
import { Database, type Tx } from '../../platform';
import { actorOf } from '../activity-actor';
import { SessionsService } from '../sessions.service';
import { UserAccount } from '../user-account.entity';
import { AccountTokens } from './account-tokens.service';
import { deleteLaterIdentities } from './linked-identity.store';
import { Passkey } from './passkey.entity';
import { assertStrongPassword } from './password-rules';
import { PasswordHasher } from './password-hasher.service';
import { PendingSteps } from './pending-steps.service';
import { refuseProviderOnly } from './provider-only';

@Injectable()
export class PasswordResetService {
  constructor(
    private readonly database: Database,
    private readonly passwords: PasswordHasher,
    private readonly tokens: AccountTokens,
    private readonly sessions: SessionsService,
    private readonly pending: PendingSteps,
    private readonly activity: ActivityLog,
  ) {}

  async isValidToken(token: string): Promise<boolean> {
    return (await this.tokens.peek(this.database.source.manager, 'reset_password', token)) !== null;
  }

  /**
   * Ends every session and every other way to sign in; the email with the token also confirmed the address. Returns the
   * account's id.
   */
  async reset(token: string, password: string): Promise<number> {
    const pendingReset = await this.tokens.peek(this.database.source.manager, 'reset_password', token);
    if (pendingReset === null) throw fault('invalid_token');
    if (pendingReset.userId !== null) await refuseProviderOnly(this.database.source, pendingReset.userId);
    const hash = await this.passwords.hash(password);
    return this.database.transaction(async (tx) => {
      const spent = await this.tokens.spend(tx, 'reset_password', token);
      const accounts = tx.getRepository(UserAccount);
      const userId = spent?.userId ?? null;
      const account = userId === null ? null : await accounts.findOneBy({ id: userId });
      if (account === null || account.status === 'deleted') throw fault('invalid_token');
      assertStrongPassword(password, account.email);
      await accounts.update(account.id, {
        passwordHash: hash,
        ...(account.status === 'pending_verification' && { status: 'active' as const }),
      });
      await this.sessions.endAll(tx, account.id);
      await this.pending.end(tx, account.id);
      await removeOtherSignIns(tx, account);
      await this.activity.write(tx, {
        action: 'account.password-reset',
        object: { type: 'account', id: account.id, label: account.email },
        actor: actorOf(account),
      });
      return account.id;
    });
  }
}

/**
 * Anyone who knew the former password might have added them. Only the identity that opened the account certainly
 * belongs to its owner.
 */
async function removeOtherSignIns(tx: Tx, { id }: UserAccount): Promise<void> {
  await tx.getRepository(Passkey).delete({ userId: id });
  await deleteLaterIdentities(tx, id);
}
