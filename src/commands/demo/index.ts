import { parseArgs } from 'node:util';
import { migrations } from '../../../migrations';
import { AccountTokens, Organisation, UserAccount } from '../../identity';
import { attachDatabase, type Database } from '../../platform';
import { type CliCommand, type CliContext, UsageError } from '../command';
import { wholeNumberOf } from '../option-parsers';
import { withDatabase } from '../with-database';
import { createBudgets } from './budgets';
import { createJudgedRequests } from './judged-requests';
import { DEMO_SLUG, emailOf, createOrganisation } from './organisation';
import { removeDemo } from './removal';
import { createTraffic, pricedModels } from './traffic';

export const demoSeed: CliCommand = {
  usage: 'demo:seed [--days 90] [--requests 60000] [--remove]',
  summary:
    'Fills a development installation with an organisation, people, keys and plausible traffic of the last days, so ' +
    'that every page can be looked at. With --remove takes all of it away. Refused in production.',
  run(argv, context) {
    const { values } = parseArgs({
      args: argv,
      options: {
        days: { type: 'string', default: '90' },
        requests: { type: 'string', default: '60000' },
        remove: { type: 'boolean', default: false },
      },
    });
    const days = requireRange(wholeNumberOf(values.days, '--days'), 1, 365, '--days');
    const requests = requireRange(wholeNumberOf(values.requests, '--requests'), 1, 2_000_000, '--requests');
    return withDatabase(async (database, settings) => {
      if (settings.environment === 'production') {
        context.writeStderr('Demonstration data has no place in production. Nothing was changed.\n');
        return 1;
      }
      const exists = await database.source.getRepository(Organisation).existsBy({ slug: DEMO_SLUG });
      if (values.remove) return exists ? remove(settings, context) : nothingToRemove(context);
      if (exists) {
        context.write('The demonstration is there already. "demo:seed --remove" takes it away.\n');
        context.write(await signInLinks(database, settings));
        return 0;
      }
      return seed(database, settings, { days, requests }, context);
    }, context);
  },
};

type DemoSettings = Parameters<typeof createOrganisation>[2];

async function seed(
  database: Database,
  settings: DemoSettings,
  span: { days: number; requests: number },
  context: CliContext,
): Promise<number> {
  // Checked before anything is written: an account in an empty database would prevent the first start from creating its
  // owner.
  const models = await pricedModels(database);
  if (models.size === 0) {
    context.writeStderr(
      'The models of the sandbox are not there: start the service once. Nothing was changed.\n',
    );
    return 1;
  }
  const organisation = await database.transaction((tx) => createOrganisation(tx, database, settings));
  await createTraffic(database, organisation, models, { ...span, now: Date.now() }, (count) => {
    context.writeStderr(`${count.toLocaleString('en')} of ${span.requests.toLocaleString('en')} requests\n`);
  });
  const judgedCount = await createJudgedRequests(database, settings, organisation, models, {
    days: span.days,
    now: Date.now(),
  });
  await createBudgets(database, organisation, Date.now());
  context.write(`Organisation "${DEMO_SLUG}" with ${organisation.keys.length} keys is there.\n`);
  context.write(`${judgedCount} requests for auto are judged, by a judge that only pretends.\n`);
  context.write(await signInLinks(database, settings));
  return 0;
}

async function signInLinks(database: Database, settings: DemoSettings): Promise<string> {
  const tokens = new AccountTokens(settings);
  const lines = await database.transaction(async (tx) => {
    const links: string[] = [];
    for (const { name, sees } of guideUsers) {
      const user = await tx.getRepository(UserAccount).findOneBy({ email: emailOf(name) });
      if (user === null) continue;
      const token = await tokens.issue(tx, 'sign_in_link', { userId: user.id });
      links.push(`  ${name}, ${sees}`, `    ${settings.baseUrl}/sign-in-link?token=${token}`);
    }
    return links;
  });
  return ['Each link signs in once, within 24 hours:', ...lines, ''].join('\n');
}

const guideUsers = [
  { name: 'David Okafor', sees: 'with keys and traffic of his own' },
  { name: 'Ada Lindqvist', sees: 'owner of the organisation, who sees all of it in the admin view' },
] as const;

/** The owner of the schema can delete rows that the application cannot. */
async function remove(settings: DemoSettings, context: CliContext): Promise<number> {
  const connection = await attachDatabase(settings, { migrations });
  try {
    await removeDemo(settings.migrationDatabaseUrl ?? connection.ownerUrl);
  } finally {
    await connection.close();
  }
  context.write('The demonstration is gone.\n');
  return 0;
}

function nothingToRemove(context: CliContext): number {
  context.write('There is no demonstration here.\n');
  return 0;
}

function requireRange(value: number, min: number, max: number, option: string): number {
  if (value < min || value > max) throw new UsageError(`${option} takes ${min} to ${max}.`);
  return value;
}
