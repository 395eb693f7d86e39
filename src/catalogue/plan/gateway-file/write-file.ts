import { stringify } from 'yaml';
import {
  FLAT_RATES,
  formatMultiplier,
  formatUsd,
  RATE_FIELDS,
  type PriceRates,
  TOKEN_RATES,
  snakeCased,
  type TokenRateName,
  type TokenRates,
  UNCHANGED,
} from '../../../kernel';
import { modelFields } from '../../entities';
import type { Current, CurrentModel, CurrentProvider } from '../current';

type Fields = Record<string, unknown>;

const HEAD = `# What this installation serves. Secrets are not in here: where a provider is new, enter its own by reference
# (api_key: \${NAME}) or on its page. docs/gateway-yaml.md describes the format.
`;

/** The whole catalogue as a file that, read again, changes nothing. Usual values are left out. */
export function gatewayText(
  { providers, models, aliases, organisations }: Current,
  keys: Readonly<Record<string, Fields>> = {},
): string {
  const namesOf = Map.groupBy(aliases.keys(), (alias) => aliases.get(alias) ?? '');
  const content = {
    version: 1,
    providers: named(providers, providerOf),
    models: named(models, (model) => modelOf(model, namesOf.get(model.name) ?? [])),
    organisations: named(organisations, ({ regions, access, departments }) => ({
      regions: regions ?? 'any',
      models: accessOf(access),
      departments: named(departments, (department) => ({ models: accessOf(department.access) })),
    })),
    keys: named(new Map(Object.entries(keys)), (key) => escaped(key) as Fields),
  };
  return HEAD + stringify(withoutEmpty(content), { lineWidth: 0, aliasDuplicateObjects: false });
}

const named = <Row>(rows: ReadonlyMap<string, Row>, fieldsOf: (row: Row) => Fields): Fields =>
  Object.fromEntries([...rows].map(([name, row]) => [name, withoutEmpty(fieldsOf(row))]));

const providerOf = (provider: CurrentProvider): Fields => ({
  style: text(provider.style),
  base_url: text(provider.baseUrl),
  regions: unlessEmpty(provider.regions),
  visible: unless(true, provider.visible),
  settings: escaped(provider.settings),
  timeouts: renamed(provider.timeouts, milliseconds),
  breaker: renamed(provider.breaker, (value, name) => (name === 'failures' ? value : milliseconds(value))),
});

const modelOf = (model: CurrentModel, aliases: readonly string[]): Fields => ({
  ...(escaped(modelFields.toFile(model)) as Fields),
  display_name: unless(model.name, text(model.displayName)),
  redirect: optionalText(model.redirect),
  overflow: optionalText(model.overflow),
  aliases: unlessEmpty(aliases),
  lanes: model.lanes.map((lane, place) =>
    withoutEmpty({
      provider: text(lane.provider),
      model: text(lane.upstreamModel),
      region: text(lane.region),
      priority: unless(place, lane.priority),
      weight: unless(1, lane.weight),
      retries: unless(0, lane.retries),
      facts: optionalText(lane.facts),
      wire: lane.wire,
      enabled: unless(true, lane.enabled),
      price: lane.price === null ? null : priceOf(lane.price.rates),
    }),
  ),
  price: model.price === null ? null : priceOf(model.price.rates),
  schedules: model.schedules.map(({ startsAt, endsAt, rates }) =>
    withoutEmpty({
      from: startsAt.toISOString(),
      to: endsAt?.toISOString() ?? null,
      price: priceOf(rates),
    }),
  ),
});

/** Both rates of a chat model are written, be they zero: nothing is free by omission. */
function priceOf(rates: PriceRates): Fields {
  const modes = RATE_FIELDS.map((field): [string, Fields] => [field, modesOf(rates, `${field}=`)]);
  return withoutEmpty({
    ...tokenRates(rates),
    ...Object.fromEntries(
      FLAT_RATES.map(({ name, word }) => [word, rates[name] > 0n ? dollars(rates[name]) : null]),
    ),
    uses: amountsOf(rates.uses),
    images: amountsOf(rates.images),
    ...Object.fromEntries(modes),
  });
}

const modesOf = ({ modes }: PriceRates, prefix: string): Fields =>
  Object.fromEntries(
    Object.entries(modes).flatMap(([name, { multiplier, rates }]): [string, Fields][] => {
      if (!name.startsWith(prefix)) return [];
      const isSaid = multiplier !== UNCHANGED || rates === null;
      const factor = isSaid ? numeral(formatMultiplier(multiplier)) : null;
      const own = rates === null ? {} : tokenRates(rates);
      return [[name.slice(prefix.length), withoutEmpty({ multiplier: factor, ...own })]];
    }),
  );

function tokenRates(rates: TokenRates): Fields {
  const amounts = (from: Readonly<Record<TokenRateName, bigint | null>>): Fields =>
    Object.fromEntries(TOKEN_RATES.map(({ name, word }) => [word, optionalDollars(from[name])]));
  const tiers = rates.tiers.map((tier) =>
    withoutEmpty({ above_input_tokens: tier.aboveInputTokens, ...amounts(tier) }),
  );
  return { ...amounts(rates), tiers: tiers.length === 0 ? null : tiers };
}

const amountsOf = (rates: Readonly<Record<string, bigint | undefined>>): Fields =>
  Object.fromEntries(Object.entries(rates).map(([name, rate]) => [name, optionalDollars(rate ?? null)]));

const accessOf = (access: Readonly<Record<string, boolean>>): Fields =>
  Object.fromEntries(Object.entries(access).map(([model, open]) => [model, open ? 'allowed' : 'blocked']));

const dollars = (nano: bigint): number | string => numeral(formatUsd(nano));
const optionalDollars = (nano: bigint | null): number | string | null =>
  nano === null ? null : dollars(nano);

/** It is a number where that is written with the same digits, so that the file is easy to read. */
const numeral = (digits: string): number | string =>
  String(Number(digits)) === digits ? Number(digits) : digits;

const milliseconds = (value: number): string => `${value}ms`;
const text = (value: string): string => value.replaceAll('${', () => '$${');
const optionalText = (value: string | null): string | null => (value === null ? null : text(value));
const unless = <Value>(usual: Value, value: Value): Value | null => (value === usual ? null : value);
const unlessEmpty = (list: readonly string[]): string[] | null => (list.length === 0 ? null : list.map(text));

const renamed = <Value>(from: object, shown: (value: number, name: string) => Value): Fields =>
  Object.fromEntries(
    Object.entries(from).map(([name, value]) => [snakeCased(name), shown(value as number, name)]),
  );

/** Texts of settings that read like references are kept from being read as such. */
function escaped(value: unknown): unknown {
  if (typeof value === 'string') return text(value);
  if (Array.isArray(value)) return value.map(escaped);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, escaped(part)]));
}

const withoutEmpty = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => !isNothing(value)));

function isNothing(value: unknown): boolean {
  if (value === null || value === undefined) return true;
  return typeof value === 'object' && !Array.isArray(value) && Object.keys(value).length === 0;
}
