import { parseArgs } from 'node:util';
import { type DynamicModule, Module } from '@nestjs/common';
import { ActivityLog } from '../audit';
import { CredentialStore, loadSnapshot, ModelDetailService, readCurrent } from '../catalogue';
import { ConfigModule, Database, SecretBox, SecretsModule, Settings, SupplierHttpModule } from '../platform';
import {
  type ComparedModel,
  type ComparedProvider,
  compareWithVendors,
  applicableFacts,
  ModelLists,
  SupplierStyles,
  applyListedFacts,
} from '../routing';
import { overrideFields } from '../vendors';
import { commandActor, type CliCommand, type CliContext, UsageError } from './command';
import { loadStyles } from './extensions/command-extensions';
import { listOf } from './option-parsers';
import { runInContext, withServices } from './with-services';

export const modelsCompare: CliCommand = {
  usage: 'models compare [--provider NAME] [--take MODEL,MODEL [--lower]]',
  summary:
    "Asks providers for their own lists of models and compares them with the catalogue: names that a vendor doesn't " +
    'list, and windows, output limits, thinking and schemas of which it says something else. --take writes its ' +
    'figures into the facts of these models; those that set less aside for requests only with --lower.',
  run(argv, context) {
    const { values } = parseArgs({
      args: argv,
      options: {
        provider: { type: 'string' },
        take: { type: 'string' },
        lower: { type: 'boolean', default: false },
      },
    });
    const take = values.take === undefined ? [] : listOf(values.take);
    if (values.lower && take.length === 0) throw new UsageError('--lower goes with --take.');
    const services = [Database, Settings, ModelDetailService, ActivityLog] as const;
    return withServices(services, context, async (database, settings, sheets, activity) => {
      const compared = await compareCatalogueWithVendors(
        database,
        settings,
        await loadStyles(settings, context),
        values.provider,
      );
      if (compared.length === 0 && values.provider !== undefined)
        throw new UsageError(`There is no provider "${values.provider}".`);
      for (const provider of compared) context.write(providerText(provider));
      if (compared.length === 0) context.write('No provider in use has a list of models that is asked.\n');
      const tools = { sheets, activity };
      const refused = await takeOverFacts(database, tools, compared, { take, lower: values.lower }, context);
      return refused + compared.filter(({ problem }) => problem !== null).length === 0 ? 0 : 1;
    });
  },
};

export async function compareCatalogueWithVendors(
  database: Database,
  settings: Settings,
  styles: SupplierStyles,
  only?: string,
): Promise<readonly ComparedProvider[]> {
  const module = ModelListsModule.forRoot(database, settings, styles);
  return runInContext(module, [ModelLists], async (lists) =>
    compareWithVendors(lists, await database.transaction((tx) => readCurrent(tx)), only),
  );
}

@Module({ imports: [SecretsModule, SupplierHttpModule], providers: [ModelLists] })
class ModelListsModule {
  static forRoot(database: Database, settings: Settings, styles: SupplierStyles): DynamicModule {
    return {
      module: ModelListsModule,
      imports: [ConfigModule.forRoot(settings)],
      providers: [
        { provide: SupplierStyles, useValue: styles },
        {
          provide: CredentialStore,
          inject: [SecretBox],
          useFactory: async (box: SecretBox) =>
            CredentialStore.create(database, box, await loadSnapshot(database)),
        },
      ],
    };
  }
}

interface TakeOverOptions {
  readonly take: readonly string[];
  readonly lower: boolean;
}

/** Returns the number of models that could not be taken over. */
async function takeOverFacts(
  database: Database,
  tools: Parameters<typeof applyListedFacts>[1],
  compared: readonly ComparedProvider[],
  { take, lower }: TakeOverOptions,
  context: CliContext,
): Promise<number> {
  let refused = 0;
  for (const name of take) {
    const matches = compared.flatMap(({ provider, models }) =>
      models.filter(({ model }) => model === name).map((model) => ({ provider, model })),
    );
    const candidates = matches.filter(({ model }) => Object.keys(applicableFacts(model, lower)).length > 0);
    const [candidate] = candidates;
    if (candidate === undefined || candidates.length > 1 || candidate.model.managed) {
      refused += 1;
      context.write(`${name}: not taken over, ${refusalReason(matches.length, candidates, lower)}\n`);
      continue;
    }
    const { provider } = candidate;
    const facts = applicableFacts(candidate.model, lower);
    await database.transaction((tx) =>
      applyListedFacts(tx, tools, { model: name, facts, provider, actor: commandActor }),
    );
    context.write(`${name}: taken over, ${factsJson(candidate.model, lower)}\n`);
  }
  return refused;
}

function refusalReason(
  matchCount: number,
  candidates: readonly { readonly provider: string; readonly model: ComparedModel }[],
  lower: boolean,
): string {
  const [candidate] = candidates;
  if (matchCount === 0) return 'no vendor that was asked serves it';
  if (candidate === undefined) return `there is nothing to take over${lower ? '' : ' without --lower'}`;
  if (candidates.length > 1)
    return `name one of its providers by --provider: ${candidates.map(({ provider }) => provider).join(', ')}`;
  return `it is kept by a gateway file: put "facts: ${factsJson(candidate.model, lower)}" there and apply it`;
}

const factsJson = (model: ComparedModel, lower: boolean): string =>
  JSON.stringify(overrideFields(applicableFacts(model, lower)));

function providerText({ provider, listed, problem, models }: ComparedProvider): string {
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
