import { Injectable } from '@nestjs/common';
import { Fault, fault } from '../../../kernel';
import { Database, type Tx } from '../../../platform';
import { CatalogueEditor } from '../../catalogue-editor.service';
import { PriceService } from '../../price.service';
import { type CurrentCatalogue, readCurrent } from '../current.query';
import { didYouMean } from '../nearest';
import { applyOrDryRun } from '../apply-or-dry-run';
import { selectSteps, fingerprintOf, type PlanApproval, type PlanRow, toPlanRows } from '../plan-rows';
import { stepLabel, type Step, type StepServices } from '../step';
import { parseExactly } from './exact-json';
import { litellmPrices } from './litellm';
import { modelsDevPrices } from './models-dev';
import type { PriceList, UnknownKey } from './offer';
import { reconcile, type PriceImportOptions } from './reconcile';

const formats = { 'litellm-prices': litellmPrices, 'models-dev': modelsDevPrices };
export type PriceListFormat = keyof typeof formats;

export interface PriceListPlan {
  readonly rows: readonly PlanRow[];
  readonly gone: readonly string[];
  readonly kept: readonly string[];
  readonly refused: readonly string[];
  readonly unknownKeys: readonly UnknownKey[];
  readonly untouched: readonly string[];
  readonly fingerprint: string;
}

export interface PriceListOptions extends Pick<PriceImportOptions, 'overwrite' | 'only'> {
  readonly format: PriceListFormat;
  /** Own providers, each as `ours` or `ours=theirs`. If empty, every provider whose name is in the list. */
  readonly providers: readonly string[];
}

export const readPriceList = (format: PriceListFormat, text: string): PriceList =>
  formats[format].read(parseExactly(text));

@Injectable()
export class PriceListPlanner {
  private readonly services: StepServices;

  constructor(
    private readonly database: Database,
    editor: CatalogueEditor,
    prices: PriceService,
  ) {
    this.services = { editor, prices };
  }

  plan(list: PriceList, options: PriceListOptions): Promise<PriceListPlan> {
    return this.run(list, options, null);
  }

  /** Skips models that the catalogue refuses and imports the others. */
  apply(list: PriceList, options: PriceListOptions & PlanApproval): Promise<PriceListPlan> {
    return this.run(list, options, options);
  }

  private run(
    list: PriceList,
    { format, providers: requestedProviders, overwrite, only }: PriceListOptions,
    approval: PlanApproval | null,
  ): Promise<PriceListPlan> {
    return applyOrDryRun(this.database, approval !== null, async (tx) => {
      const current = await readCurrent(tx);
      const providers = matchProviders(requestedProviders, list, current);
      const source = approval === null ? `import ${format}` : `import ${format} by ${approval.actor}`;
      const reconciliation = reconcile(list, current, { source, overwrite, providers, only });
      const fingerprint = fingerprintOf({
        rows: toPlanRows(reconciliation.steps),
        gone: reconciliation.gone,
        kept: reconciliation.kept,
      });
      const selected = selectSteps(reconciliation.steps, fingerprint, approval ?? {});
      const refused = await runSteps(tx, this.services, selected);
      if (approval?.chosen !== undefined) refusePartialImport(refused);
      const listProviders = new Set(providers.values());
      const isRequested = ({ provider }: { readonly provider: string }): boolean =>
        listProviders.has(provider);
      const content = {
        rows: toPlanRows(selected.filter((step) => !refused.has(step))),
        gone: reconciliation.gone,
        kept: reconciliation.kept,
        refused: [
          ...list.refused.filter(isRequested).map(({ id, reason }) => `${id}: ${reason}`),
          ...[...refused].map(([step, reason]) => `${stepLabel(step)}: ${reason}`),
        ],
        unknownKeys: list.unknownKeys.filter(isRequested),
      };
      await approval?.record?.(tx, content.rows);
      return { ...content, untouched: reconciliation.untouched, fingerprint };
    });
  }
}

/** Individually selected rows are applied as shown, or not at all. */
function refusePartialImport(refused: ReadonlyMap<Step, string>): void {
  const [first] = refused;
  if (first === undefined) return;
  const [step, reason] = first;
  throw fault('conflict', { message: `${stepLabel(step)}: ${reason} Nothing was applied.` });
}

function matchProviders(
  requestedProviders: readonly string[],
  list: PriceList,
  current: CurrentCatalogue,
): ReadonlyMap<string, string> {
  const listProviders = new Set([...list.offers, ...list.refused].map(({ provider }) => provider));
  const pairs =
    requestedProviders.length > 0
      ? requestedProviders.map((text): [string, string] => {
          const [ownName = '', listName = ownName] = text.split('=');
          return [ownName, listName];
        })
      : [...current.providers.keys()]
          .filter((name) => listProviders.has(name))
          .map((name): [string, string] => [name, name]);
  if (pairs.length === 0)
    throw invalidProvider('No provider of the catalogue is in this list; name one as NAME=THEIRS.');
  for (const [ownName, listName] of pairs) {
    if (!current.providers.has(ownName))
      throw invalidProvider(
        `There is no provider "${ownName}"${didYouMean(ownName, current.providers.keys())}`,
      );
    if (!listProviders.has(listName))
      throw invalidProvider(`The list has no provider "${listName}"${didYouMean(listName, listProviders)}`);
  }
  return new Map(pairs);
}

const invalidProvider = (message: string): Fault => fault('invalid_provider', { param: 'provider', message });

async function runSteps(
  tx: Tx,
  services: StepServices,
  steps: readonly Step[],
): Promise<ReadonlyMap<Step, string>> {
  const refused = new Map<Step, string>();
  for (const step of steps) {
    try {
      await tx.transaction((inner) => step.run(inner, services));
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      refused.set(step, error.humanMessage);
    }
  }
  return refused;
}
