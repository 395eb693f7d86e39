import { Injectable } from '@nestjs/common';
import { type ActionName, ActivityLog, systemActor } from '../../audit';
import { Database, type Tx } from '../../platform';
import { UserAccount } from '../user-account.entity';
import { AccountTokens, type TokenPurpose } from './account-tokens.service';
import { signsInByProviderOnly } from './provider-only';

/** A request by a visitor before sign-in, for a known or unknown account; `failed` is a refused sign-in. */
export type AccountMailKind = 'register' | 'resend' | 'reset' | 'failed';

export interface AccountMail {
  readonly notice: 'verify' | 'registered-already' | 'reset' | 'reset-by-provider';
  readonly to: string;
  readonly name: string;
  readonly language: string;
  readonly token?: string;
}

/** Chooses the mail after the answer has left, so that response times reveal nothing about accounts. */
@Injectable()
export class AccountMailService {
  constructor(
    private readonly database: Database,
    private readonly tokens: AccountTokens,
    private readonly activity: ActivityLog,
  ) {}

  async mailFor(wish: AccountMailKind, email: string): Promise<AccountMail | null> {
    const account = await this.database.source
      .getRepository(UserAccount)
      .createQueryBuilder('u')
      .where('lower(u.email) = lower(:email)', { email })
      .getOne();
    if (account === null || account.status === 'deleted') return null;
    const mail = { to: account.email, name: account.displayName, language: account.preferredLanguage };
    const pending = account.status === 'pending_verification';
    if (wish === 'failed') {
      await this.database.transaction((tx) => this.record(tx, 'session.sign-in-failed', account));
      return null;
    }
    if (wish === 'reset') {
      if (await signsInByProviderOnly(this.database.source.manager, account.id))
        return { ...mail, notice: 'reset-by-provider' };
      return {
        ...mail,
        notice: 'reset',
        token: await this.issue('reset_password', account, 'account.password-reset-requested'),
      };
    }
    if (pending) {
      const action = wish === 'register' ? 'account.registered' : undefined;
      return { ...mail, notice: 'verify', token: await this.issue('verify_email', account, action) };
    }
    return wish === 'register' ? { ...mail, notice: 'registered-already' } : null;
  }

  /** An earlier link stops working with the new one, so that a mailbox holds one at most. */
  private issue(purpose: TokenPurpose, account: UserAccount, action?: ActionName): Promise<string> {
    return this.database.transaction(async (tx) => {
      if (action !== undefined) await this.record(tx, action, account);
      await this.tokens.revokeAll(tx, purpose, account.id);
      return this.tokens.issue(tx, purpose, { userId: account.id });
    });
  }

  private record(tx: Tx, action: ActionName, account: UserAccount): Promise<void> {
    const object = { type: 'account', id: account.id, label: account.email } as const;
    return this.activity.write(tx, {
      action,
      object,
      actor: systemActor('sign-in'),
      concerns: { ...account, userId: account.id },
    });
  }
}
