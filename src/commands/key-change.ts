import { parseArgs } from 'node:util';
import { Limits } from '../billing';
import { platformScope } from '../kernel';
import { type KeyChanges, KeysService, maskKey } from '../keys';
import { type Command, UsageError } from './command';
import { commandActor, keyEntriesOf } from './key-entries';
import { keyIdIn, keyOptions, limitsIn, modelBudgetsOf, allowedNames } from './key-words';
import { budgetOf, secondsOf } from './readers';
import { withDatabase } from './with-database';

/** A limit that is taken away. */
const NONE = 'none';

export const keyChange: Command = {
  usage:
    'key change ID [--name NAME] [--status active|disabled] [--budget 20/monthly|none] [--rpm 60|none] ' +
    '[--tpm 100000|none] [--parallel 4|none] [--model-budget gpt-x=5/daily|none] ' +
    '[--models a,b|none] [--regions eu|none] [--expires 2027-01-01|none]',
  summary: 'Changes what a key may do; "none" takes a limit away. What is not named stays as it is.',
  run(words, context) {
    const { id, changes, modelBudgets } = changesIn(words);
    return withDatabase(async (database, settings) => {
      const keys = new KeysService(settings, new Limits(database));
      await database.transaction(async (tx) => {
        const { allowedModels } = changes;
        const named =
          allowedModels === undefined ? {} : { allowedModels: await allowedNames(tx, allowedModels) };
        const budgets = modelBudgets === null ? {} : { modelBudgets: await modelBudgetsOf(tx, modelBudgets) };
        const change = (): Promise<unknown> =>
          keys.change(platformScope, tx, id, { ...changes, ...named, ...budgets });
        await keyEntriesOf(database).changing(tx, id, async () => void (await change()), commandActor);
      });
      context.write(`${id} is changed.\n`);
      return 0;
    }, context);
  },
};

export const keyRotate: Command = {
  usage: 'key rotate ID [--grace 1h]',
  summary:
    'Makes a new secret under the same id and prints it, this once. The old one works until the grace is over; ' +
    'without one it ends at once. Only the key itself goes to standard output.',
  run(words, context) {
    const { values, positionals } = parseArgs({
      args: words,
      allowPositionals: true,
      options: { grace: { type: 'string' } },
    });
    const id = keyIdIn(positionals);
    const grace = values.grace === undefined ? 0 : secondsOf(values.grace, '--grace');
    return withDatabase(async (database, settings) => {
      const keys = new KeysService(settings, new Limits(database));
      const rotated = await database.transaction(async (tx) => {
        const fresh = await keys.rotate(platformScope, tx, id, grace);
        await keyEntriesOf(database).rotated(tx, fresh, commandActor);
        return fresh;
      });
      const { previousUntil } = rotated;
      const end = previousUntil === null ? 'has ended' : `works until ${previousUntil.toISOString()}`;
      context.writeStderr(
        `${maskKey(rotated.publicId)} has a new secret, shown only now; the old one ${end}:\n`,
      );
      context.write(`${rotated.text}\n`);
      return 0;
    }, context);
  },
};

interface KeyChangeArguments {
  readonly id: string;
  readonly changes: KeyChanges;
  /** Null leaves them as they are. */
  readonly modelBudgets: readonly string[] | null;
}

function changesIn(words: string[]): KeyChangeArguments {
  const { values, positionals } = parseArgs({
    args: words,
    allowPositionals: true,
    options: {
      ...keyOptions,
      status: { type: 'string' },
    },
  });
  const id = keyIdIn(positionals);
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
      ...limitsIn(values, NONE),
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
