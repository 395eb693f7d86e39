import { Injectable } from '@nestjs/common';
import { ActivityLog } from '../../audit';
import { fault } from '../../kernel';
import { Database, type Tx } from '../../platform';
import { actorOf } from '../activity-actor';
import { SessionsService } from '../sessions.service';
import { UserAccount } from '../user-account.entity';
import { AccountTokens } from './account-tokens.service';
import { findAccountId } from './user-account.query';
import { setAddress } from './user-account.store';

export interface ChangedAddress {
  readonly userId: number;
  readonly former: string;
  readonly undoToken: string;
  readonly name: string;
  readonly language: string;
}

/** A new address takes effect once it is confirmed; the former one can undo the change for a day. */
@Injectable()
export class AddressChange {
  constructor(
    private readonly database: Database,
    private readonly tokens: AccountTokens,
    private readonly sessions: SessionsService,
    private readonly activity: ActivityLog,
  ) {}

  /** Returns the token for the email to the new address; null if that address already has an account. */
  start(userId: number, email: string): Promise<string | null> {
    return this.database.transaction(async (tx) => {
      await this.tokens.revokeAll(tx, 'change_address', userId);
      if ((await findAccountId(tx, email)) !== null) return null;
      return this.tokens.issue(tx, 'change_address', { userId, data: { email } });
    });
  }

  confirm(token: string): Promise<ChangedAddress> {
    return this.database.transaction(async (tx) => {
      const { account, email } = await this.spend(tx, 'change_address', token);
      const former = account.email;
      await this.change(tx, account, email);
      const data = { email: former };
      const undoToken = await this.tokens.issue(tx, 'undo_address', { userId: account.id, data });
      const { id: userId, displayName: name, preferredLanguage: language } = account;
      return { userId, former, undoToken, name, language };
    });
  }

  /** The change might have been an intruder's: all sessions end, and links to later addresses become void. */
  undo(token: string): Promise<void> {
    return this.database.transaction(async (tx) => {
      const { account, email } = await this.spend(tx, 'undo_address', token);
      await this.change(tx, account, email);
      await this.sessions.endAll(tx, account.id);
      for (const purpose of ['change_address', 'undo_address'] as const) {
        await this.tokens.revokeAll(tx, purpose, account.id);
      }
    });
  }

  private async spend(
    tx: Tx,
    purpose: 'change_address' | 'undo_address',
    token: string,
  ): Promise<{ account: UserAccount; email: string }> {
    const spent = await this.tokens.spend(tx, purpose, token);
    const email = spent?.data['email'];
    const userId = spent?.userId ?? null;
    if (userId === null || typeof email !== 'string') throw fault('invalid_token');
    const account = await tx.getRepository(UserAccount).findOne({
      where: { id: userId },
      lock: { mode: 'pessimistic_write' },
    });
    if (account === null || account.status === 'deleted') throw fault('invalid_token');
    return { account, email };
  }

  private async change(tx: Tx, account: UserAccount, email: string): Promise<void> {
    if (!(await setAddress(tx, account.id, email))) throw fault('email_taken');
    for (const purpose of ['reset_password', 'sign_in_link', 'verify_email'] as const) {
      await this.tokens.revokeAll(tx, purpose, account.id);
    }
    await this.activity.write(tx, {
      action: 'account.email-changed',
      object: { type: 'account', id: account.id, label: email },
      actor: actorOf(account),
      changes: { email: [account.email, email] },
    });
  }
}
