import { Fault, fault } from '../../../kernel';
import type { Database, Tx } from '../../../platform';
import { type Current, readCurrent } from '../current';
import { didYouMean } from '../nearest';
import { applyOrDryRun } from '../apply-or-dry-run';
import { chosenOf, fingerprintOf, type PlanApproval, type PlanRow, rowsOf } from '../plan-rows';
import { nameOf, type Step } from '../step';
import { parseExactly } from './exact-json';
import { litellmPrices } from './litellm';
import { modelsDevPrices } from './models-dev';
import type { PriceList, UnknownKey } from './offer';
import { reconcile, type ImportOptions } from './reconcile';

const formats = { 'litellm-prices': litellmPrices, 'models-dev': modelsDevPrices };
export type PriceListFormat = keyof typeof formats;

export interface PriceListPlan {
  readonly rows: readonly PlanRow[];
  /** These are in our catalogue, and no longer in the list. */
  readonly gone: readonly string[];
  /** These are different in the list, and left alone: their price was set by hand. */
  readonly kept: readonly string[];
  /** These are not taken over, each with its reason. */
  readonly refused: readonly string[];
  readonly unknownKeys: readonly UnknownKey[];
  /** The list and the catalogue agree about these, such as `model gpt-large`. */
  readonly untouched: readonly string[];
  readonly fingerprint: string;
}

export interface PriceListOptions extends Pick<ImportOptions, 'overwrite' | 'only'> {
  readonly format: PriceListFormat;
  /** Our providers, each alone or as `ours=theirs`. None means every provider whose name is in the list. */
  readonly providers: readonly string[];
}

export const readPriceList = (format: PriceListFormat, text: string): PriceList =>
  formats[format].read(parseExactly(text));

/** Tries everything and keeps nothing. */
export const planPriceList = (
  database: Database,
  list: PriceList,
  options: PriceListOptions,
): Promise<PriceListPlan> => tryAll(database, list, options, null);

/** Models that the catalogue refuses are left out; the others come in all the same. */
export const applyPriceList = (
  database: Database,
  list: PriceList,
  options: PriceListOptions & PlanApproval,
): Promise<PriceListPlan> => tryAll(database, list, options, options);

function tryAll(
  database: Database,
  list: PriceList,
  { format, providers: named, overwrite, only }: PriceListOptions,
  approval: PlanApproval | null,
): Promise<PriceListPlan> {
  return applyOrDryRun(database, approval !== null, async (tx) => {
    const current = await readCurrent(tx);
    const providers = matchProviders(named, list, current);
    const source = approval === null ? `import ${format}` : `import ${format} by ${approval.actor}`;
    const found = reconcile(list, current, { source, overwrite, providers, only });
    const fingerprint = fingerprintOf({ rows: rowsOf(found.steps), gone: found.gone, kept: found.kept });
    const chosen = chosenOf(found.steps, fingerprint, approval ?? {});
    const refused = await runSteps(tx, chosen);
    if (approval?.chosen !== undefined) refuseInPart(refused);
    const theirs = new Set(providers.values());
    const ofTheirs = ({ provider }: { readonly provider: string }): boolean => theirs.has(provider);
    const shown = {
      rows: rowsOf(chosen.filter((step) => !refused.has(step))),
      gone: found.gone,
      kept: found.kept,
      refused: [
        ...list.refused.filter(ofTheirs).map(({ id, reason }) => `${id}: ${reason}`),
        ...[...refused].map(([step, reason]) => `${nameOf(step)}: ${reason}`),
      ],
      unknownKeys: list.unknownKeys.filter(ofTheirs),
    };
    await approval?.record?.(tx, shown.rows);
    return { ...shown, untouched: found.untouched, fingerprint };
  });
}

/** Rows that were chosen one by one are done as shown, or not at all. */
function refuseInPart(refused: ReadonlyMap<Step, string>): void {
  const [first] = refused;
  if (first === undefined) return;
  const [step, reason] = first;
  throw fault('conflict', { message: `${nameOf(step)}: ${reason} Nothing was applied.` });
}

/** Each of our names leads to theirs. */
function matchProviders(
  named: readonly string[],
  list: PriceList,
  current: Current,
): ReadonlyMap<string, string> {
  const theirs = new Set([...list.offers, ...list.refused].map(({ provider }) => provider));
  const pairs =
    named.length > 0
      ? named.map((text): [string, string] => {
          const [ours = '', other = ours] = text.split('=');
          return [ours, other];
        })
      : [...current.providers.keys()]
          .filter((name) => theirs.has(name))
          .map((name): [string, string] => [name, name]);
  if (pairs.length === 0)
    throw noProvider('No provider of the catalogue is in this list; name one as NAME=THEIRS.');
  for (const [ours, other] of pairs) {
    if (!current.providers.has(ours))
      throw noProvider(`There is no provider "${ours}"${didYouMean(ours, current.providers.keys())}`);
    if (!theirs.has(other))
      throw noProvider(`The list has no provider "${other}"${didYouMean(other, theirs)}`);
  }
  return new Map(pairs);
}

const noProvider = (message: string): Fault => fault('invalid_provider', { param: 'provider', message });

async function runSteps(tx: Tx, steps: readonly Step[]): Promise<ReadonlyMap<Step, string>> {
  const refused = new Map<Step, string>();
  for (const step of steps) {
    try {
      await tx.transaction((inner) => step.run(inner));
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      refused.set(step, error.humanMessage);
    }
  }
  return refused;
}
