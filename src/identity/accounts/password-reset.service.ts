import { Injectable } from '@nestjs/common';
import { fault } from '../../kernel';
import { ActivityLog } from '../../audit';
import { Database, type Tx } from '../../platform';
import { actorOf } from '../activity-actor';
import { SessionsService } from '../sessions.service';
import { UserAccount } from '../user-account.entity';
import { AccountTokens } from './account-tokens.service';
import { assertStrongPassword } from './password-rules';
import { Passwords } from './passwords.service';
import { PendingSteps } from './pending-steps.service';
import { refuseProviderOnly } from './provider-only';

@Injectable()
export class PasswordResetService {
  constructor(
    private readonly database: Database,
    private readonly passwords: Passwords,
    private readonly tokens: AccountTokens,
    private readonly sessions: SessionsService,
    private readonly pending: PendingSteps,
    private readonly activity: ActivityLog,
  ) {}

  async isOpen(token: string): Promise<boolean> {
    return (await this.tokens.look(this.database.source.manager, 'reset_password', token)) !== null;
  }

  /** Ends every session and every other way in. The mail that carried the token confirmed the address as well. Returns whose it was. */
  async reset(token: string, password: string): Promise<number> {
    const open = await this.tokens.look(this.database.source.manager, 'reset_password', token);
    if (open === null) throw fault('invalid_token');
    if (open.userId !== null) await refuseProviderOnly(this.database.source.manager, open.userId);
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
      await endOtherWaysIn(tx, account);
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
 * Others who knew the former password may have linked them; only the identity that opened the account is
 * surely its owner's.
 */
async function endOtherWaysIn(tx: Tx, { id }: UserAccount): Promise<void> {
  await tx.query('DELETE FROM passkey WHERE user_id = $1', [id]);
  await tx.query(
    `DELETE FROM linked_identity WHERE user_id = $1
       AND linked_at <> (SELECT created_at FROM user_account WHERE id = $1)`,
    [id],
  );
}
