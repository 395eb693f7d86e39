import { Injectable } from '@nestjs/common';
import { AutoLearner, AutoSalts } from '../../autorouter';
import { BudgetRaises, Limits } from '../../billing';
import { AccountTokens, UserAccount } from '../../identity';
import { KeysService } from '../../keys';
import { Database, Settings } from '../../platform';
import type { CliContext } from '../command';
import { createBudgets } from './budgets';
import { createJudgedRequests } from './judged-requests';
import { createOrganisation, DEMO_SLUG, emailOf } from './organisation';
import { createTraffic, pricedModels } from './traffic';

@Injectable()
export class DemoSeeder {
  constructor(
    private readonly database: Database,
    private readonly settings: Settings,
    private readonly keys: KeysService,
    private readonly limits: Limits,
    private readonly raises: BudgetRaises,
    private readonly learner: AutoLearner,
    private readonly salts: AutoSalts,
    private readonly tokens: AccountTokens,
  ) {}

  async seed(span: { days: number; requests: number }, context: CliContext): Promise<number> {
    const { database, learner, limits, raises, salts } = this;
    // Checked before anything is written: an account in an empty database would prevent the first start from creating
    // its owner.
    const models = await pricedModels(database);
    if (models.size === 0) {
      context.writeStderr(
        'The models of the sandbox are not there: start the service once. Nothing was changed.\n',
      );
      return 1;
    }
    const organisation = await database.transaction((tx) => createOrganisation(tx, this.keys));
    await createTraffic(database, organisation, models, { ...span, now: Date.now() }, (count) => {
      context.writeStderr(
        `${count.toLocaleString('en')} of ${span.requests.toLocaleString('en')} requests\n`,
      );
    });
    const judgedCount = await createJudgedRequests(database, { learner, salts }, organisation, models, {
      days: span.days,
      now: Date.now(),
    });
    await createBudgets(database, { limits, raises }, organisation, Date.now());
    context.write(`Organisation "${DEMO_SLUG}" with ${organisation.keys.length} keys is there.\n`);
    context.write(`${judgedCount} requests for auto are judged, by a judge that only pretends.\n`);
    context.write(await this.signInLinks());
    return 0;
  }

  async signInLinks(): Promise<string> {
    const lines = await this.database.transaction(async (tx) => {
      const links: string[] = [];
      for (const { name, sees } of guideUsers) {
        const user = await tx.getRepository(UserAccount).findOneBy({ email: emailOf(name) });
        if (user === null) continue;
        const token = await this.tokens.issue(tx, 'sign_in_link', { userId: user.id });
        links.push(`  ${name}, ${sees}`, `    ${this.settings.baseUrl}/sign-in-link?token=${token}`);
      }
      return links;
    });
    return ['Each link signs in once, within 24 hours:', ...lines, ''].join('\n');
  }
}

const guideUsers = [
  { name: 'David Okafor', sees: 'with keys and traffic of his own' },
  { name: 'Ada Lindqvist', sees: 'owner of the organisation, who sees all of it in the admin view' },
] as const;
