import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import { type ActionName, ActivityLog, systemActor } from '../../audit';
import { Database, type Tx } from '../../platform';
import { UserAccount } from '../user-account.entity';
import { AccountTokens, type TokenPurpose } from './account-tokens.service';
import { findAccountId, findRegistrations, signsInByProviderOnly } from './user-account.query';

/** Request of a visitor before sign-in, for a known or unknown account; `failed` is a refused sign-in. */
export type AccountMailKind = 'register' | 'resend' | 'reset' | 'failed';

export interface AccountMail {
  readonly notice: 'verify' | 'registered-already' | 'reset' | 'reset-by-provider';
  readonly userId: number;
  readonly to: string;
  readonly name: string;
  readonly language: string;
  readonly token?: string;
}

/** Chooses the email after the response has been sent, so that response times reveal nothing about accounts. */
@Injectable()
export class AccountMailService {
  constructor(
    private readonly database: Database,
    @InjectRepository(UserAccount) private readonly accounts: Repository<UserAccount>,
    private readonly tokens: AccountTokens,
    private readonly activity: ActivityLog,
  ) {}

  async mailFor(kind: AccountMailKind, email: string, token?: string): Promise<AccountMail | null> {
    const account = await this.accountOf(email);
    if (account === null || account.status === 'deleted') return null;
    const { id: userId, email: to, displayName: name, preferredLanguage: language } = account;
    const mail = { userId, to, name, language };
    const isPending = account.status === 'pending_verification';
    if (kind === 'failed') {
      await this.database.transaction((tx) => this.record(tx, 'session.sign-in-failed', account));
      return null;
    }
    if (kind === 'reset') return { ...mail, ...(await this.resetOf(account)) };
    if (!isPending) return kind === 'register' ? { ...mail, notice: 'registered-already' } : null;
    if (token !== undefined) {
      await this.database.transaction((tx) => this.record(tx, 'account.registered', account));
      return { ...mail, notice: 'verify', token };
    }
    const registrationData = await this.soleRegistrationOf(account.id);
    // If there are several registrations, no one can tell which one counts, so the owner of the mailbox chooses a
    // password.
    if (registrationData === undefined) return { ...mail, ...(await this.resetOf(account)) };
    return {
      ...mail,
      notice: 'verify',
      token: await this.issue('verify_email', account, { data: registrationData }),
    };
  }

  private async resetOf(account: UserAccount): Promise<Pick<AccountMail, 'notice' | 'token'>> {
    if (await signsInByProviderOnly(this.database.source, account.id)) return { notice: 'reset-by-provider' };
    const action = 'account.password-reset-requested';
    return { notice: 'reset', token: await this.issue('reset_password', account, { action }) };
  }

  private async soleRegistrationOf(userId: number) {
    const [sole, other] = await findRegistrations(this.database, userId);
    return other === undefined && sole?.isFirst === true ? sole.data : undefined;
  }

  /** A new link invalidates the earlier one, so that a mailbox holds at most one. */
  private issue(
    purpose: TokenPurpose,
    account: UserAccount,
    { action, data = {} }: { readonly action?: ActionName; readonly data?: object },
  ): Promise<string> {
    return this.database.transaction(async (tx) => {
      if (action !== undefined) await this.record(tx, action, account);
      await this.tokens.revokeAll(tx, purpose, account.id);
      return this.tokens.issue(tx, purpose, { userId: account.id, data });
    });
  }

  private async accountOf(email: string): Promise<UserAccount | null> {
    const id = await findAccountId(this.database.source, email);
    return id === null ? null : this.accounts.findOneBy({ id });
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
