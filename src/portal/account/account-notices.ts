import { Injectable } from '@nestjs/common';
import { UserAccount } from '../../identity';
import { Database } from '../../platform';
import { AccountMails } from './account-mails';

@Injectable()
export class AccountNotices {
  constructor(
    private readonly database: Database,
    private readonly mails: AccountMails,
  ) {}

  async notify(userId: number, notice: string, values: Readonly<Record<string, string>> = {}): Promise<void> {
    const account = await this.database.source.getRepository(UserAccount).findOneByOrFail({ id: userId });
    const { email: to, displayName: name, preferredLanguage: language } = account;
    await this.mails.send({ notice, userId, to, language, values: { name, ...values } });
  }
}
