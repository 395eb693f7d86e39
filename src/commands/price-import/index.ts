import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { Fault } from '../../kernel';
import type { Database, Tx } from '../../platform';
import { type Command, UsageError } from '../command';
import { type Current, readCurrent } from '../gateway-file/current';
import { countOf, renderSteps } from '../gateway-file/render-plan';
import type { Step } from '../gateway-file/step';
import { didYouMean } from '../nearest';
import { listOf } from '../readers';
import { performOrRehearse } from '../rehearse';
import { withDatabase } from '../with-database';
import { parseExactly } from './exact-json';
import { litellmPrices } from './litellm';
import { modelsDevPrices } from './models-dev';
import type { PriceFormat, PriceList, Refused, UnknownKey } from './offer';
import { type Reconciliation, reconcile } from './reconcile';

const importOf = (format: PriceFormat, origin: string): Command => ({
  usage: `import ${format.name} FILE [--provider NAME[=THEIRS]] [--only a,b] [--overwrite] [--apply]`,
  summary:
    `Compares a price list (${origin}) with the catalogue. Changes nothing without --apply. ` +
    'Without --provider every provider whose name is in the list. New models come in paused; ' +
    'a price that was not imported is only replaced with --overwrite.',
  run(words, context) {
    const { values, positionals } = parseArgs({
      args: words,
      allowPositionals: true,
      options: {
        provider: { type: 'string', multiple: true, default: [] },
        only: { type: 'string' },
        overwrite: { type: 'boolean', default: false },
        apply: { type: 'boolean', default: false },
      },
    });
    const [path, ...others] = positionals;
    if (path === undefined || others.length > 0) throw new UsageError('Name one file.');
    const list = format.read(parseExactly(readFileSync(path, 'utf8')));
    const options: Options = {
      format,
      named: values.provider,
      only: values.only === undefined ? undefined : new Set(listOf(values.only)),
      overwrite: values.overwrite,
      apply: values.apply,
    };
    return withDatabase(async (database) => {
      context.write(await importPrices(database, list, options));
      return 0;
    }, context);
  },
});

export const importLitellm = importOf(litellmPrices, "LiteLLM's model_prices_and_context_window.json");
export const importModelsDev = importOf(modelsDevPrices, 'api.json of models.dev');

interface Options {
  readonly format: PriceFormat;
  readonly named: readonly string[];
  readonly only?: ReadonlySet<string>;
  readonly overwrite: boolean;
  readonly apply: boolean;
}

function importPrices(database: Database, list: PriceList, options: Options): Promise<string> {
  return performOrRehearse(database, options.apply, async (tx) => {
    const current = await readCurrent(tx);
    const providers = matchProviders(options.named, list, current);
    const { overwrite, only } = options;
    const found = reconcile(list, current, {
      source: `import ${options.format.name}`,
      overwrite,
      providers,
      only,
    });
    const refused = await runSteps(tx, found.steps);
    return render(found, list, { refused, theirs: new Set(providers.values()), apply: options.apply });
  });
}

/** Ours → theirs. */
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
    throw new UsageError('No provider of the catalogue is in this list; name one: --provider NAME=THEIRS.');
  for (const [ours, other] of pairs) {
    if (!current.providers.has(ours))
      throw new UsageError(`There is no provider "${ours}"${didYouMean(ours, current.providers.keys())}`);
    if (!theirs.has(other))
      throw new UsageError(`The list has no provider "${other}"${didYouMean(other, theirs)}`);
  }
  return new Map(pairs);
}

/** Models that the catalogue refuses are left out; the others come in all the same. */
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

interface Rendering {
  readonly refused: ReadonlyMap<Step, string>;
  readonly theirs: ReadonlySet<string>;
  readonly apply: boolean;
}

function render(found: Reconciliation, list: PriceList, { refused, theirs, apply }: Rendering): string {
  const steps = found.steps.filter((step) => !refused.has(step));
  const ofTheirs = (one: Pick<Refused, 'provider'>): boolean => theirs.has(one.provider);
  const left = [
    ...list.refused.filter(ofTheirs).map(({ id, reason }) => `${id}: ${reason}`),
    ...[...refused].map(([{ what }, reason]) => `${what}: ${reason}`),
  ];
  const { prices = [], keys = [] } = Object.groupBy(list.unknownKeys.filter(ofTheirs), ({ key }) =>
    PRICE.test(key) ? 'prices' : 'keys',
  );
  const lines = [
    ...renderSteps(steps),
    ...section('Gone from the list, left as it is:', found.gone),
    ...section('Kept (--overwrite takes what the list says):', found.kept),
    ...section('Not taken over:', left),
    ...section('Prices without a place here, not charged:', byKey(prices, namesOf)),
    ...section(
      'Keys without a place here:',
      byKey(keys, (on) => `(${on.length})`),
    ),
    steps.length === 0
      ? 'Nothing to do.'
      : `${countOf(steps)}, ${found.gone.length} gone. ${apply ? 'Applied.' : 'Nothing was changed; --apply does it.'}`,
  ];
  return `${lines.join('\n')}\n`;
}

const section = (heading: string, entries: readonly string[]): string[] =>
  entries.length === 0 ? [] : [heading, ...entries.map((entry) => `  ${entry}`)];

const PRICE = /cost|pric|multiplier|experimental\.modes/;
const MOST_NAMES = 5;

const byKey = (unknown: readonly UnknownKey[], textOf: (on: readonly UnknownKey[]) => string): string[] =>
  [...Map.groupBy(unknown, ({ key }) => key)].map(([key, on]) => `${key} ${textOf(on)}`);

function namesOf(on: readonly UnknownKey[]): string {
  const names = on.slice(0, MOST_NAMES).map(({ id }) => id);
  const more = on.length - names.length;
  return `(${names.join(', ')}${more > 0 ? ` and ${more} more` : ''})`;
}
