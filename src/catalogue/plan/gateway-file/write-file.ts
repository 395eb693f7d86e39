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
import type { CurrentCatalogue, CurrentModel, CurrentProvider } from '../current.query';

type YamlFields = Record<string, unknown>;

const HEAD = `# What this installation serves. Secrets are not in here: where a provider is new, enter its own by reference
# (api_key: \${NAME}) or on its page. docs/gateway-yaml.md describes the format.
`;

/** Writes the complete catalogue as a file that changes nothing when applied again. Default values are omitted. */
export function gatewayText(
  { providers, models, aliases, organisations }: CurrentCatalogue,
  keys: Readonly<Record<string, YamlFields>> = {},
): string {
  const aliasesByModel = Map.groupBy(aliases.keys(), (alias) => aliases.get(alias) ?? '');
  const content = {
    version: 1,
    providers: mapNamed(providers, providerOf),
    models: mapNamed(models, (model) => modelOf(model, aliasesByModel.get(model.name) ?? [])),
    organisations: mapNamed(organisations, ({ regions, access, departments }) => ({
      regions: regions ?? 'any',
      models: accessOf(access),
      departments: mapNamed(departments, (department) => ({ models: accessOf(department.access) })),
    })),
    keys: mapNamed(new Map(Object.entries(keys)), (key) => escapeReferences(key) as YamlFields),
  };
  return HEAD + stringify(withoutEmpty(content), { lineWidth: 0, aliasDuplicateObjects: false });
}

const mapNamed = <Row>(rows: ReadonlyMap<string, Row>, fieldsOf: (row: Row) => YamlFields): YamlFields =>
  Object.fromEntries([...rows].map(([name, row]) => [name, withoutEmpty(fieldsOf(row))]));

const providerOf = (provider: CurrentProvider): YamlFields => ({
  style: text(provider.style),
  base_url: text(provider.baseUrl),
  regions: unlessEmpty(provider.regions),
  visible: unlessDefault(true, provider.visible),
  settings: escapeReferences(provider.settings),
  timeouts: snakeCasedFields(provider.timeouts, milliseconds),
  breaker: snakeCasedFields(provider.breaker, (value, name) =>
    name === 'failures' ? value : milliseconds(value),
  ),
});

const modelOf = (model: CurrentModel, aliases: readonly string[]): YamlFields => ({
  ...(escapeReferences(modelFields.toFile(model)) as YamlFields),
  display_name: unlessDefault(model.name, text(model.displayName)),
  redirect: optionalText(model.redirect),
  overflow: optionalText(model.overflow),
  aliases: unlessEmpty(aliases),
  lanes: model.lanes.map((lane, index) =>
    withoutEmpty({
      provider: text(lane.provider),
      model: text(lane.upstreamModel),
      region: text(lane.region),
      priority: unlessDefault(index, lane.priority),
      weight: unlessDefault(1, lane.weight),
      retries: unlessDefault(0, lane.retries),
      facts: optionalText(lane.facts),
      wire: lane.wire,
      enabled: unlessDefault(true, lane.enabled),
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

/** Both token rates of a chat model are written, even as zero: nothing is free by omission. */
function priceOf(rates: PriceRates): YamlFields {
  const modes = RATE_FIELDS.map((field): [string, YamlFields] => [field, modesOf(rates, `${field}=`)]);
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

const modesOf = ({ modes }: PriceRates, prefix: string): YamlFields =>
  Object.fromEntries(
    Object.entries(modes).flatMap(([name, { multiplier, rates }]): [string, YamlFields][] => {
      if (!name.startsWith(prefix)) return [];
      const hasMultiplier = multiplier !== UNCHANGED || rates === null;
      const factor = hasMultiplier ? numeral(formatMultiplier(multiplier)) : null;
      const ownRates = rates === null ? {} : tokenRates(rates);
      return [[name.slice(prefix.length), withoutEmpty({ multiplier: factor, ...ownRates })]];
    }),
  );

function tokenRates(rates: TokenRates): YamlFields {
  const amounts = (from: Readonly<Record<TokenRateName, bigint | null>>): YamlFields =>
    Object.fromEntries(TOKEN_RATES.map(({ name, word }) => [word, optionalDollars(from[name])]));
  const tiers = rates.tiers.map((tier) =>
    withoutEmpty({ above_input_tokens: tier.aboveInputTokens, ...amounts(tier) }),
  );
  return { ...amounts(rates), tiers: tiers.length === 0 ? null : tiers };
}

const amountsOf = (rates: Readonly<Record<string, bigint | undefined>>): YamlFields =>
  Object.fromEntries(Object.entries(rates).map(([name, rate]) => [name, optionalDollars(rate ?? null)]));

const accessOf = (access: Readonly<Record<string, boolean>>): YamlFields =>
  Object.fromEntries(Object.entries(access).map(([model, open]) => [model, open ? 'allowed' : 'blocked']));

const dollars = (nano: bigint): number | string => numeral(formatUsd(nano));
const optionalDollars = (nano: bigint | null): number | string | null =>
  nano === null ? null : dollars(nano);

/** Writes a number if it keeps the same digits, so that the file is easy to read. */
const numeral = (digits: string): number | string =>
  String(Number(digits)) === digits ? Number(digits) : digits;

const milliseconds = (value: number): string => `${value}ms`;
const text = (value: string): string => value.replaceAll('${', () => '$${');
const optionalText = (value: string | null): string | null => (value === null ? null : text(value));
const unlessDefault = <Value>(defaultValue: Value, value: Value): Value | null =>
  value === defaultValue ? null : value;
const unlessEmpty = (list: readonly string[]): string[] | null => (list.length === 0 ? null : list.map(text));

const snakeCasedFields = <Value>(from: object, format: (value: number, name: string) => Value): YamlFields =>
  Object.fromEntries(
    Object.entries(from).map(([name, value]) => [snakeCased(name), format(value as number, name)]),
  );

/** Escapes text that would be read as a reference. */
function escapeReferences(value: unknown): unknown {
  if (typeof value === 'string') return text(value);
  if (Array.isArray(value)) return value.map(escapeReferences);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, escapeReferences(part)]));
}

const withoutEmpty = (fields: YamlFields): YamlFields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => !isEmptyValue(value)));

function isEmptyValue(value: unknown): boolean {
  if (value === null || value === undefined) return true;
  return typeof value === 'object' && !Array.isArray(value) && Object.keys(value).length === 0;
}
