import { Injectable } from '@nestjs/common';
import { OwnAccountService } from '../../identity';
import { AccountMails } from './account-mails';

@Injectable()
export class AccountNotices {
  constructor(
    private readonly accounts: OwnAccountService,
    private readonly mails: AccountMails,
  ) {}

  async notify(userId: number, notice: string, values: Readonly<Record<string, string>> = {}): Promise<void> {
    const account = await this.accounts.find(userId);
    const { email: to, displayName: name, preferredLanguage: language } = account;
    await this.mails.send({ notice, userId, to, language, values: { name, ...values } });
  }
}
