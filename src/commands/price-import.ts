import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { ActivityLog } from '../audit';
import {
  type PlanRow,
  type PriceListFormat,
  type PriceListPlan,
  PriceListPlanner,
  readPriceList,
  writePlanEntries,
} from '../catalogue';
import { Fault } from '../kernel';
import type { Tx } from '../platform';
import { commandActor, COMMAND_LINE, type CliCommand, UsageError } from './command';
import { listOf } from './option-parsers';
import { countOf, renderRows } from './render-plan';
import { withServices } from './with-services';

const importCommand = (format: PriceListFormat, origin: string): CliCommand => ({
  usage: `import ${format} FILE [--provider NAME[=THEIRS]] [--only a,b] [--overwrite] [--apply]`,
  summary:
    `Compares a price list (${origin}) with the catalogue. Changes nothing without --apply. ` +
    'Without --provider every provider whose name is in the list. New models come in paused; ' +
    'a price that was not imported is only replaced with --overwrite.',
  run(argv, context) {
    const { values, positionals } = parseArgs({
      args: argv,
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
    const list = readPriceList(format, readFileSync(path, 'utf8'));
    const options = {
      format,
      providers: values.provider,
      only: values.only === undefined ? undefined : new Set(listOf(values.only)),
      overwrite: values.overwrite,
    };
    return withServices([PriceListPlanner, ActivityLog], context, async (planner, activity) => {
      const record = (tx: Tx, rows: readonly PlanRow[]): Promise<void> =>
        writePlanEntries(activity, tx, rows, commandActor);
      const plan = values.apply
        ? planner.apply(list, { ...options, actor: COMMAND_LINE, record })
        : planner.plan(list, options);
      context.write(render(await plan.catch(throwUsageError), values.apply));
      return 0;
    });
  },
});

export const importLitellm = importCommand(
  'litellm-prices',
  "LiteLLM's model_prices_and_context_window.json",
);
export const importModelsDev = importCommand('models-dev', 'api.json of models.dev');

/** An unknown provider comes from --provider, so it is a usage error. */
function throwUsageError(error: unknown): never {
  if (error instanceof Fault && error.code === 'invalid_provider') throw new UsageError(error.humanMessage);
  throw error;
}

function render({ rows, gone, kept, refused, unknownKeys }: PriceListPlan, applied: boolean): string {
  const { prices = [], keys = [] } = Object.groupBy(unknownKeys, ({ key }) =>
    PRICE.test(key) ? 'prices' : 'keys',
  );
  const lines = [
    ...renderRows(rows),
    ...section('Gone from the list, left as it is:', gone),
    ...section('Kept (--overwrite takes what the list says):', kept),
    ...section('Not taken over:', refused),
    ...section('Prices without a place here, not charged:', byKey(prices, namesOf)),
    ...section(
      'Keys without a place here:',
      byKey(keys, (occurrences) => `(${occurrences.length})`),
    ),
    rows.length === 0
      ? 'Nothing to do.'
      : `${countOf(rows)}, ${gone.length} gone. ${applied ? 'Applied.' : 'Nothing was changed; --apply does it.'}`,
  ];
  return `${lines.join('\n')}\n`;
}

const section = (heading: string, entries: readonly string[]): string[] =>
  entries.length === 0 ? [] : [heading, ...entries.map((entry) => `  ${entry}`)];

type UnknownKeys = PriceListPlan['unknownKeys'];

const PRICE = /cost|pric|multiplier|experimental\.modes/;
const MAX_NAMES = 5;

const byKey = (unknownKeys: UnknownKeys, textOf: (occurrences: UnknownKeys) => string): string[] =>
  [...Map.groupBy(unknownKeys, ({ key }) => key)].map(
    ([key, occurrences]) => `${key} ${textOf(occurrences)}`,
  );

function namesOf(occurrences: UnknownKeys): string {
  const names = occurrences.slice(0, MAX_NAMES).map(({ id }) => id);
  const more = occurrences.length - names.length;
  return `(${names.join(', ')}${more > 0 ? ` and ${more} more` : ''})`;
}
