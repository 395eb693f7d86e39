import { Controller, Get, Header, Req } from '@nestjs/common';
import { type ActivityEntry, ActivityLog, ActivityQuery, UsageQuery } from '../../audit';
import { actorOf as accountActor, OwnAccountService, Passkeys } from '../../identity';
import { type Scope, toJsonNumber } from '../../kernel';
import { KeyRegister, presentKey } from '../../keys';
import { Database } from '../../platform';
import { Access, actorOf, Audited, type HttpRequest } from '../../web';

const MOST_KEYS = 1_000;
const MOST_ENTRIES = 10_000;

/**
 * What is kept about a person beside their conversations and payments, as one file for themselves; also while the
 * account rests. Lists that hold more than fits say so.
 */
@Controller()
export class PersonalDataController {
  constructor(
    private readonly database: Database,
    private readonly accounts: OwnAccountService,
    private readonly passkeys: Passkeys,
    private readonly keys: KeyRegister,
    private readonly entries: ActivityQuery,
    private readonly usage: UsageQuery,
    private readonly activity: ActivityLog,
  ) {}

  @Get('/account/data')
  @Access.restingSession()
  @Audited('account.data-exported')
  @Header('content-disposition', 'attachment; filename="account-data.json"')
  @Header('cache-control', 'no-store')
  async file(@Req() request: HttpRequest): Promise<object> {
    const { userId } = actorOf(request);
    const scope: Scope = { kind: 'user', userId };
    const account = await this.accounts.find(userId);
    const keys = await this.keys.list(scope, { limit: MOST_KEYS });
    const activity = await this.entriesOf(scope);
    const facts = {
      exported_at: new Date().toISOString(),
      account: {
        id: account.id,
        email: account.email,
        display_name: account.displayName,
        role: account.role,
        status: account.status,
        organisation_id: account.organisationId,
        department_id: account.departmentId,
        language: account.preferredLanguage,
        time_zone: account.timeZone,
        created_at: account.createdAt.toISOString(),
      },
      sign_in_providers: await this.accounts.identities(userId),
      passkeys: (await this.passkeys.list(userId)).map(({ publicId, name, createdAt, lastUsedAt }) => ({
        id: publicId,
        name,
        created_at: createdAt,
        last_used_at: lastUsedAt,
      })),
      legal_acceptances: await this.database.query(
        'SELECT version, accepted_at FROM legal_acceptance WHERE user_id = $1 ORDER BY accepted_at',
        [userId],
      ),
      sessions: (await this.accounts.sessions(userId)).map(({ publicId, ...session }) => ({
        id: publicId,
        ...session,
      })),
      keys: keys.rows.map(presentKey),
      usage_by_month: await this.months(scope, account.createdAt),
      activity: activity.slice(0, MOST_ENTRIES),
      truncated: { keys: keys.next !== null, activity: activity.length > MOST_ENTRIES },
    };
    await this.database.transaction((tx) =>
      this.activity.write(tx, {
        action: 'account.data-exported',
        object: { type: 'account', id: userId, label: account.email },
        actor: accountActor(account),
      }),
    );
    return facts;
  }

  private async entriesOf(scope: Scope): Promise<ActivityEntry[]> {
    const entries: ActivityEntry[] = [];
    for await (const entry of this.entries.all(scope, { limit: MOST_ENTRIES + 1 })) entries.push(entry);
    return entries;
  }

  private async months(scope: Scope, since: Date): Promise<object[]> {
    const question = { from: since, to: new Date(), bucket: 'month', zone: 'UTC' } as const;
    const { borders, buckets } = await this.usage.ask(scope, question);
    return borders.flatMap((from, place) => {
      const { costNano, ...sums } = buckets[place] ?? { costNano: 0n };
      return [{ from: from.toISOString(), ...sums, cost_usd: toJsonNumber(costNano) }];
    });
  }
}
