import { parseArgs } from 'node:util';
import { migrations } from '../../../migrations';
import { AccountTokens, Organisation, UserAccount } from '../../identity';
import { attachDatabase, type Database } from '../../platform';
import { type Command, type CommandContext, UsageError } from '../command';
import { wholeNumberOf } from '../readers';
import { withDatabase } from '../with-database';
import { makeBudgets } from './budgets';
import { makeJudged } from './judged';
import { DEMO_SLUG, emailOf, makeOrganisation } from './organisation';
import { removeDemo } from './removal';
import { makeTraffic, pricedModels } from './traffic';

export const demoSeed: Command = {
  usage: 'demo:seed [--days 90] [--requests 60000] [--remove]',
  summary:
    'Fills a development installation with an organisation, people, keys and plausible traffic of the last days, so ' +
    'that every page can be looked at. With --remove takes all of it away. Refused in production.',
  run(words, context) {
    const { values } = parseArgs({
      args: words,
      options: {
        days: { type: 'string', default: '90' },
        requests: { type: 'string', default: '60000' },
        remove: { type: 'boolean', default: false },
      },
    });
    const days = within(wholeNumberOf(values.days, '--days'), 1, 365, '--days');
    const requests = within(wholeNumberOf(values.requests, '--requests'), 1, 2_000_000, '--requests');
    return withDatabase(async (database, settings) => {
      if (settings.environment === 'production') {
        context.writeStderr('Demonstration data has no place in production. Nothing was changed.\n');
        return 1;
      }
      const isThere = await database.source.getRepository(Organisation).existsBy({ slug: DEMO_SLUG });
      if (values.remove) return isThere ? remove(settings, context) : nothingToRemove(context);
      if (isThere) {
        context.write('The demonstration is there already. "demo:seed --remove" takes it away.\n');
        context.write(await signInLinks(database, settings));
        return 0;
      }
      return seed(database, settings, { days, requests }, context);
    }, context);
  },
};

type Settings = Parameters<typeof makeOrganisation>[2];

async function seed(
  database: Database,
  settings: Settings,
  span: { days: number; requests: number },
  context: CommandContext,
): Promise<number> {
  // Checked before anything is written: an account in an empty database would keep the first start from making its owner.
  const models = await pricedModels(database);
  if (models.size === 0) {
    context.writeStderr(
      'The models of the sandbox are not there: start the service once. Nothing was changed.\n',
    );
    return 1;
  }
  const organisation = await database.transaction((tx) => makeOrganisation(tx, database, settings));
  await makeTraffic(database, organisation, models, { ...span, now: Date.now() }, (made) => {
    context.writeStderr(`${made.toLocaleString('en')} of ${span.requests.toLocaleString('en')} requests\n`);
  });
  const judged = await makeJudged(database, settings, organisation, models, {
    days: span.days,
    now: Date.now(),
  });
  await makeBudgets(database, organisation, Date.now());
  context.write(`Organisation "${DEMO_SLUG}" with ${organisation.keys.length} keys is there.\n`);
  context.write(`${judged} requests for auto are judged, by a judge that only pretends.\n`);
  context.write(await signInLinks(database, settings));
  return 0;
}

/** Its pages are its people's: each of these sees another part. */
async function signInLinks(database: Database, settings: Settings): Promise<string> {
  const tokens = new AccountTokens(settings);
  const lines = await database.transaction(async (tx) => {
    const made: string[] = [];
    for (const { name, sees } of guides) {
      const person = await tx.getRepository(UserAccount).findOneBy({ email: emailOf(name) });
      if (person === null) continue;
      const token = await tokens.issue(tx, 'sign_in_link', { userId: person.id });
      made.push(`  ${name}, ${sees}`, `    ${settings.baseUrl}/sign-in-link?token=${token}`);
    }
    return made;
  });
  return ['Each link signs in once, within 24 hours:', ...lines, ''].join('\n');
}

const guides = [
  { name: 'David Okafor', sees: 'with keys and traffic of his own' },
  { name: 'Ada Lindqvist', sees: 'owner of the organisation, who sees all of it in the admin view' },
] as const;

/** The owner of the schema may delete rows that an application may not. */
async function remove(settings: Settings, context: CommandContext): Promise<number> {
  const open = await attachDatabase(settings, { migrations });
  try {
    await removeDemo(settings.migrationDatabaseUrl ?? open.ownerUrl);
  } finally {
    await open.close();
  }
  context.write('The demonstration is gone.\n');
  return 0;
}

function nothingToRemove(context: CommandContext): number {
  context.write('There is no demonstration here.\n');
  return 0;
}

function within(value: number, least: number, most: number, option: string): number {
  if (value < least || value > most) throw new UsageError(`${option} takes ${least} to ${most}.`);
  return value;
}
