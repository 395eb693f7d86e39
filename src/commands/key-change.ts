import { parseArgs } from 'node:util';
import { platformScope } from '../kernel';
import { KeyActivity, type KeyChanges, KeysService, maskKey } from '../keys';
import { Database } from '../platform';
import { commandActor, type CliCommand, UsageError } from './command';
import { parseKeyId, keyOptions, parseLimits, parseModelBudgets, resolveAllowedModels } from './key-options';
import { budgetOf, secondsOf } from './option-parsers';
import { withServices } from './with-services';

const NONE = 'none';

const services = [Database, KeysService, KeyActivity] as const;

export const keyChange: CliCommand = {
  usage:
    'key change ID [--name NAME] [--status active|disabled] [--budget 20/monthly|none] [--rpm 60|none] ' +
    '[--tpm 100000|none] [--parallel 4|none] [--model-budget gpt-x=5/daily|none] ' +
    '[--models a,b|none] [--regions eu|none] [--expires 2027-01-01|none]',
  summary: 'Changes what a key may do; "none" takes a limit away. What is not named stays as it is.',
  run(argv, context) {
    const { id, changes, modelBudgets } = parseChanges(argv);
    return withServices(services, context, async (database, keys, activity) => {
      await database.transaction(async (tx) => {
        const { allowedModels } = changes;
        const resolvedModels =
          allowedModels === undefined ? {} : { allowedModels: await resolveAllowedModels(tx, allowedModels) };
        const budgets =
          modelBudgets === null ? {} : { modelBudgets: await parseModelBudgets(tx, modelBudgets) };
        const change = (): Promise<unknown> =>
          keys.change(platformScope, tx, id, { ...changes, ...resolvedModels, ...budgets });
        await activity.recordChange(tx, id, async () => void (await change()), commandActor);
      });
      context.write(`${id} is changed.\n`);
      return 0;
    });
  },
};

export const keyRotate: CliCommand = {
  usage: 'key rotate ID [--grace 1h]',
  summary:
    'Makes a new secret under the same id and prints it, this once. The old one works until the grace is over; ' +
    'without one it ends at once. Only the key itself goes to standard output.',
  run(argv, context) {
    const { values, positionals } = parseArgs({
      args: argv,
      allowPositionals: true,
      options: { grace: { type: 'string' } },
    });
    const id = parseKeyId(positionals);
    const grace = values.grace === undefined ? 0 : secondsOf(values.grace, '--grace');
    return withServices(services, context, async (database, keys, activity) => {
      const rotatedKey = await database.transaction(async (tx) => {
        const newKey = await keys.rotate(platformScope, tx, id, grace);
        await activity.recordRotated(tx, newKey, commandActor);
        return newKey;
      });
      const { previousUntil } = rotatedKey;
      const end = previousUntil === null ? 'has ended' : `works until ${previousUntil.toISOString()}`;
      context.writeStderr(
        `${maskKey(rotatedKey.publicId)} has a new secret, shown only now; the old one ${end}:\n`,
      );
      context.write(`${rotatedKey.text}\n`);
      return 0;
    });
  },
};

interface KeyChangeArguments {
  readonly id: string;
  readonly changes: KeyChanges;
  /** Null leaves the model budgets unchanged. */
  readonly modelBudgets: readonly string[] | null;
}

function parseChanges(argv: string[]): KeyChangeArguments {
  const { values, positionals } = parseArgs({
    args: argv,
    allowPositionals: true,
    options: {
      ...keyOptions,
      status: { type: 'string' },
    },
  });
  const id = parseKeyId(positionals);
  if (Object.keys(values).length === 0) throw new UsageError('Name at least one thing to change.');
  const { name, status, budget } = values;
  if (name?.trim() === '') throw new UsageError('--name is empty.');
  const budgets = values['model-budget'];
  return {
    id,
    modelBudgets: budgets === undefined ? null : budgets.filter((text) => text !== NONE),
    changes: {
      ...(name === undefined ? {} : { name }),
      ...(status === undefined ? {} : { status: statusOf(status) }),
      ...parseLimits(values, NONE),
      ...(budget === undefined ? {} : budgetChange(budget)),
    },
  };
}

function budgetChange(text: string): Pick<KeyChanges, 'budgetLimit' | 'budgetPeriod'> {
  if (text === NONE) return { budgetLimit: null };
  const { limit, period } = budgetOf(text);
  return { budgetLimit: limit, budgetPeriod: period };
}

function statusOf(text: string): 'active' | 'disabled' {
  if (text === 'active' || text === 'disabled') return text;
  throw new UsageError('--status takes active or disabled; "key revoke" ends a key for good.');
}
