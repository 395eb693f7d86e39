import { Readable } from 'node:stream';
import { Controller, Get, Header, Req, StreamableFile } from '@nestjs/common';
import { ActivityLog } from '../../audit';
import { actorOf as accountActor, OwnAccountService } from '../../identity';
import { Database } from '../../platform';
import { Access, actorOf, Audited, type HttpRequest } from '../../web';
import { PersonalData } from './personal-data';

/** Exports all data stored about a user as one file; also available while the account is archived or suspended. */
@Controller()
export class PersonalDataController {
  constructor(
    private readonly database: Database,
    private readonly accounts: OwnAccountService,
    private readonly data: PersonalData,
    private readonly activity: ActivityLog,
  ) {}

  @Get('/account/data')
  @Access.restingSession()
  @Audited('account.data-exported')
  @Header('cache-control', 'no-store')
  async file(@Req() request: HttpRequest): Promise<StreamableFile> {
    const { userId } = actorOf(request);
    const account = await this.accounts.find(userId);
    const records = await this.data.collectRecords(account);
    await this.database.transaction((tx) =>
      this.activity.write(tx, {
        action: 'account.data-exported',
        object: { type: 'account', id: userId, label: account.email },
        actor: accountActor(account),
      }),
    );
    return new StreamableFile(Readable.from(this.data.file(records, userId)), {
      type: 'application/json',
      disposition: 'attachment; filename="account-data.json"',
    });
  }
}
