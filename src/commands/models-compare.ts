import { parseArgs } from 'node:util';
import { ActivityLog } from '../audit';
import {
  CatalogueEditor,
  CredentialStore,
  loadSnapshot,
  ModelSheets,
  PriceService,
  readCurrent,
} from '../catalogue';
import {
  AddressGuard,
  ChosenTransport,
  type Database,
  MasterKeys,
  SecretBox,
  type Settings,
} from '../platform';
import {
  type ComparedModel,
  type ComparedProvider,
  compareWithVendors,
  factsToTake,
  ModelLists,
  type SupplierStyles,
  takeToldFacts,
} from '../routing';
import { overrideFields } from '../vendors';
import { type Command, type CommandContext, UsageError } from './command';
import { loadedStyles } from './extensions/loaded';
import { commandActor } from './key-entries';
import { listOf } from './readers';
import { withDatabase } from './with-database';

export const modelsCompare: Command = {
  usage: 'models compare [--provider NAME] [--take MODEL,MODEL [--lower]]',
  summary:
    "Asks providers for their own lists of models and compares them with the catalogue: names that a vendor doesn't " +
    'list, and windows, output limits, thinking and schemas of which it says something else. --take writes its ' +
    'figures into the facts of these models; those that set less aside for requests only with --lower.',
  run(words, context) {
    const { values } = parseArgs({
      args: words,
      options: {
        provider: { type: 'string' },
        take: { type: 'string' },
        lower: { type: 'boolean', default: false },
      },
    });
    const take = values.take === undefined ? [] : listOf(values.take);
    if (values.lower && take.length === 0) throw new UsageError('--lower goes with --take.');
    return withDatabase(async (database, settings) => {
      const compared = await comparedWithVendors(
        database,
        settings,
        await loadedStyles(settings, context),
        values.provider,
      );
      if (compared.length === 0 && values.provider !== undefined)
        throw new UsageError(`There is no provider "${values.provider}".`);
      for (const provider of compared) context.write(linesOf(provider));
      if (compared.length === 0) context.write('No provider in use has a list of models that is asked.\n');
      const refused = await takeEach(database, compared, { take, lower: values.lower }, context);
      return refused + compared.filter(({ problem }) => problem !== null).length === 0 ? 0 : 1;
    }, context);
  },
};

/** Outside the service, with the secrets that it has stored. */
export async function comparedWithVendors(
  database: Database,
  settings: Settings,
  styles: SupplierStyles,
  only?: string,
): Promise<readonly ComparedProvider[]> {
  const guard = new AddressGuard(settings.supplierAllow);
  const transport = new ChosenTransport(settings, guard);
  try {
    const credentials = await CredentialStore.loaded(
      database,
      new SecretBox(MasterKeys.parse(settings.masterKey)),
      await loadSnapshot(database),
    );
    const lists = new ModelLists(transport, styles, credentials, guard);
    return await compareWithVendors(lists, await database.transaction((tx) => readCurrent(tx)), only);
  } finally {
    transport.close();
  }
}

interface TakeOverOptions {
  readonly take: readonly string[];
  readonly lower: boolean;
}

/** The answer counts those that could not be taken over. */
async function takeEach(
  database: Database,
  compared: readonly ComparedProvider[],
  { take, lower }: TakeOverOptions,
  context: CommandContext,
): Promise<number> {
  const tools = {
    sheets: new ModelSheets(new CatalogueEditor(), new PriceService()),
    activity: new ActivityLog(database),
  };
  let refused = 0;
  for (const name of take) {
    const found = compared.flatMap(({ provider, models }) =>
      models.filter(({ model }) => model === name).map((model) => ({ provider, model })),
    );
    const different = found.filter(({ model }) => Object.keys(factsToTake(model, lower)).length > 0);
    const [one] = different;
    if (one === undefined || different.length > 1 || one.model.managed) {
      refused += 1;
      context.write(`${name}: not taken over, ${reasonAgainst(found.length, different, lower)}\n`);
      continue;
    }
    const { provider } = one;
    const facts = factsToTake(one.model, lower);
    await database.transaction((tx) =>
      takeToldFacts(tx, tools, { model: name, facts, provider, actor: commandActor }),
    );
    context.write(`${name}: taken over, ${written(one.model, lower)}\n`);
  }
  return refused;
}

function reasonAgainst(
  found: number,
  different: readonly { readonly provider: string; readonly model: ComparedModel }[],
  lower: boolean,
): string {
  const [one] = different;
  if (found === 0) return 'no vendor that was asked serves it';
  if (one === undefined) return `there is nothing to take over${lower ? '' : ' without --lower'}`;
  if (different.length > 1)
    return `name one of its providers by --provider: ${different.map(({ provider }) => provider).join(', ')}`;
  return `it is kept by a gateway file: put "facts: ${written(one.model, lower)}" there and apply it`;
}

const written = (model: ComparedModel, lower: boolean): string =>
  JSON.stringify(overrideFields(factsToTake(model, lower)));

function linesOf({ provider, listed, problem, models }: ComparedProvider): string {
  if (listed === null) return `${provider}: could not be asked: ${problem ?? ''}\n`;
  const lines = models.flatMap((model) => differencesOf(model).map((line) => `  ${line}\n`));
  return `${provider}: ${listed} models listed, ${lines.length === 0 ? 'nothing differs' : 'differences:'}\n${lines.join('')}`;
}

export function differencesOf({ model, upstreamModel, listed, differences }: ComparedModel): string[] {
  const name = `${model} (${upstreamModel})`;
  if (!listed) return [`${name}: the vendor has no model of this name`];
  return differences.map(
    ({ fact, known, told, lowers }) =>
      `${name}: ${fact} ${known} here, ${told} at the vendor${lowers ? ' (sets less aside)' : ''}`,
  );
}
