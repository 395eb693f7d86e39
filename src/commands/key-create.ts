import { parseArgs } from 'node:util';
import { Organisation, type Ownership, UserAccount, hasAddress } from '../identity';
import { platformScope } from '../kernel';
import { type IssuedKey, KeyActivity, KeysService, maskKey, type NewKey } from '../keys';
import { Database, type Tx } from '../platform';
import { commandActor, COMMAND_LINE, type CliCommand, UsageError } from './command';
import { keyOptions, parseLimits, parseModelBudgets, resolveAllowedModels } from './key-options';
import { budgetOf, wholeNumberOf } from './option-parsers';
import { withServices } from './with-services';

export const keyCreate: CliCommand = {
  usage:
    'key create --name NAME [--user EMAIL | --organisation SLUG | --project ID] [--models a,b] [--regions eu] ' +
    '[--budget 20/monthly] [--rpm 60] [--tpm 100000] [--parallel 4] [--model-budget gpt-x=5/daily] ' +
    '[--expires 2027-01-01]',
  summary:
    'Makes a key and prints it, this once. Without an owner it belongs to the platform owner. ' +
    'Only the key itself goes to standard output.',
  run(argv, context) {
    const options = optionsOf(argv);
    const services = [Database, KeysService, KeyActivity] as const;
    return withServices(services, context, async (database, keys, activity) => {
      const issued = await database.transaction(async (tx) => {
        const key = await issueKey(tx, keys, options);
        await activity.recordCreated(tx, key, commandActor);
        return key;
      });
      context.writeStderr(
        `${maskKey(issued.publicId)} "${options.key.name}" was made. It is shown only now:\n`,
      );
      context.write(`${issued.text}\n`);
      return 0;
    });
  },
};

interface KeyCreateOptions {
  readonly owner: { readonly user?: string; readonly organisation?: string; readonly project?: string };
  readonly key: Omit<NewKey, keyof Ownership>;
  readonly modelBudgets: readonly string[];
}

function optionsOf(argv: string[]): KeyCreateOptions {
  const { values } = parseArgs({
    args: argv,
    options: {
      ...keyOptions,
      user: { type: 'string' },
      organisation: { type: 'string' },
      project: { type: 'string' },
    },
  });
  const { name, user, organisation, project, budget } = values;
  if (name === undefined || name.trim() === '') throw new UsageError('--name is missing.');
  if ([user, organisation, project].filter((owner) => owner !== undefined).length > 1)
    throw new UsageError('A key has one owner: --user, --organisation or --project.');
  const limits = parseLimits(values);
  if (limits.expiresAt && limits.expiresAt.getTime() <= Date.now())
    throw new UsageError('--expires lies in the past.');
  return {
    owner: { user, organisation, project },
    key: {
      kind: 'client',
      name,
      createdBy: COMMAND_LINE,
      ...limits,
      budget: budget === undefined ? null : budgetOf(budget),
    },
    modelBudgets: values['model-budget'] ?? [],
  };
}

async function issueKey(
  tx: Tx,
  keys: KeysService,
  { owner, key, modelBudgets }: KeyCreateOptions,
): Promise<IssuedKey> {
  const allowedModels = await resolveAllowedModels(tx, key.allowedModels);
  return keys.issue(platformScope, tx, {
    ...(await ownerOf(tx, keys, owner)),
    ...key,
    allowedModels,
    modelBudgets: await parseModelBudgets(tx, modelBudgets),
  });
}

async function ownerOf(tx: Tx, keys: KeysService, owner: KeyCreateOptions['owner']): Promise<Ownership> {
  const unowned = { userId: null, organisationId: null, departmentId: null, projectId: null };
  if (owner.project !== undefined)
    return { ...unowned, projectId: wholeNumberOf(owner.project, '--project') };
  if (owner.organisation !== undefined) {
    const organisation = await tx.findOneBy(Organisation, { slug: owner.organisation });
    if (organisation === null) throw new Error(`There is no organisation "${owner.organisation}".`);
    return { ...unowned, organisationId: organisation.id };
  }
  if (owner.user === undefined) {
    if (await tx.existsBy(UserAccount, { role: 'platform_owner' })) return keys.defaultOwner(tx);
    throw new Error(
      'This installation has no platform owner yet. Start the service once (npm start): it makes the owner and ' +
        'prints the first two keys. Or name the owner of the key: --user, --organisation or --project.',
    );
  }
  const user = await tx
    .createQueryBuilder(UserAccount, 'person')
    .where(hasAddress('person.email', ':email'), { email: owner.user })
    .addSelect('person.email = :email', 'spelled_alike')
    .orderBy('spelled_alike', 'DESC')
    .getOne();
  if (user === null) throw new Error(`There is no user "${owner.user}".`);
  return { ...unowned, userId: user.id, organisationId: user.organisationId };
}
