import { Injectable } from '@nestjs/common';
import { fault } from '../../kernel';
import { ActivityLog } from '../../audit';
import { Database } from '../../platform';
import { actorOf } from '../activity-actor';
import { SessionsService } from '../sessions.service';
import { UserAccount } from '../user-account.entity';
import { AccountTokens } from './account-tokens.service';
import { assertStrongPassword } from './password-rules';
import { Passwords } from './passwords.service';
import { refuseProviderOnly } from './provider-only';

@Injectable()
export class PasswordResetService {
  constructor(
    private readonly database: Database,
    private readonly passwords: Passwords,
    private readonly tokens: AccountTokens,
    private readonly sessions: SessionsService,
    private readonly activity: ActivityLog,
  ) {}

  async isOpen(token: string): Promise<boolean> {
    return (await this.tokens.look(this.database.source.manager, 'reset_password', token)) !== null;
  }

  /** Ends every session. The mail that carried the token confirmed the address as well. Returns whose it was. */
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
      for (const purpose of ['reset_password', 'verify_email', 'sign_in_link'] as const) {
        await this.tokens.revokeAll(tx, purpose, account.id);
      }
      await this.activity.write(tx, {
        action: 'account.password-reset',
        object: { type: 'account', id: account.id, label: account.email },
        actor: actorOf(account),
      });
      return account.id;
    });
  }
}
