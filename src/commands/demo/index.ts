import { parseArgs } from 'node:util';
import { migrations } from '../../../migrations';
import { Organisation } from '../../identity';
import { attachDatabase, Database, Settings } from '../../platform';
import { type CliCommand, type CliContext, UsageError } from '../command';
import { wholeNumberOf } from '../option-parsers';
import { withServices } from '../with-services';
import { DemoSeeder } from './demo-seeder';
import { DEMO_SLUG } from './organisation';
import { removeDemo } from './removal';

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
    return withServices([Database, Settings, DemoSeeder], context, async (database, settings, seeder) => {
      if (settings.environment === 'production') {
        context.writeStderr('Demonstration data has no place in production. Nothing was changed.\n');
        return 1;
      }
      const exists = await database.source.getRepository(Organisation).existsBy({ slug: DEMO_SLUG });
      if (values.remove) return exists ? remove(settings, context) : nothingToRemove(context);
      if (exists) {
        context.write('The demonstration is there already. "demo:seed --remove" takes it away.\n');
        context.write(await seeder.signInLinks());
        return 0;
      }
      return seeder.seed({ days, requests }, context);
    });
  },
};

/** The owner of the schema can delete rows that the application cannot. */
async function remove(settings: Settings, context: CliContext): Promise<number> {
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
