import type { ModelKind } from '../../entities';
import {
  Fault,
  FLAT_RATES,
  RATE_FIELDS,
  parseMultiplier,
  parseUsdPerMillion,
  type PriceRates,
  priceRates,
  RATES,
  TOKEN_RATES,
  type TokenRateName,
  USE_NAMES,
} from '../../../kernel';
import type { DesiredPrice, DesiredSchedule } from './desired';
import type { Entry } from './entry';

const fieldNames = TOKEN_RATES.map(({ word }) => word);

type PartialTokenRates = Partial<Record<TokenRateName, bigint>>;

/** Rates that must be present, even as zero: nothing is free by omission. */
const REQUIRED_RATES: Readonly<Partial<Record<ModelKind, readonly string[]>>> = { chat: ['input', 'output'] };

export function readPrice(entry: Entry, kind: ModelKind): DesiredPrice | null {
  if (entry.isAbsent) return null;
  const fields = entry.fields(
    ...RATES.map(({ word }) => word),
    'tiers',
    'uses',
    'images',
    ...RATE_FIELDS,
  ) as PriceFields;
  const { tiers: list, uses, images, ...amounts } = fields;
  const rateEntries = [...Object.values(amounts), ...images.named().map(([, field]) => field)];
  if (rateEntries.every((field) => field.isAbsent)) return entry.fault('expected at least one rate') ?? null;
  for (const name of REQUIRED_RATES[kind] ?? [])
    if (fields[name]?.isAbsent) fields[name].fault('is missing: write 0 where it is free');
  const price = completeRates(entry, {
    ...ratesOf(fields),
    ...Object.fromEntries(FLAT_RATES.map(({ name, word }) => [name, amount(fields[word]) ?? 0n])),
    tiers: tiersOf(list),
    uses: amountsOf(uses.fields(...USE_NAMES)),
    images: amountsOf(Object.fromEntries(images.named())),
    modes: Object.fromEntries(RATE_FIELDS.flatMap((field) => modesOf(field, fields[field]))),
  });
  return price === undefined ? null : { at: entry, rates: price };
}

export function readSchedules(entry: Entry, kind: ModelKind): DesiredSchedule[] | null {
  if (entry.isAbsent) return null;
  const schedules = entry.list().flatMap((one): DesiredSchedule[] => {
    const { from, to, price } = one.fields('from', 'to', 'price');
    if (price.isAbsent) price.fault('is missing');
    const startsAt = from.isAbsent ? from.fault('is missing') : from.instant();
    const endsAt = to.isAbsent ? null : to.instant();
    const rates = readPrice(price, kind)?.rates;
    if (startsAt === undefined || endsAt === undefined || rates === undefined) return [];
    if (endsAt !== null && endsAt <= startsAt) to.fault('has to be later than "from"');
    return [{ at: one, startsAt, endsAt, rates }];
  });
  schedules.sort((a, b) => a.startsAt.getTime() - b.startsAt.getTime());
  schedules.forEach(({ startsAt }, index) => {
    const before = schedules[index - 1];
    if (before !== undefined && (before.endsAt === null || before.endsAt > startsAt))
      entry.fault(`two schedules cover ${startsAt.toISOString()}`);
  });
  return schedules;
}

function ratesOf(fields: Readonly<Record<string, Entry>>): PartialTokenRates {
  const rates: PartialTokenRates = {};
  for (const { name, word } of TOKEN_RATES) {
    const rate = amount(fields[word]);
    if (rate !== undefined) rates[name] = rate;
  }
  return rates;
}

type PriceFields = Record<'tiers' | 'uses' | 'images' | (typeof RATE_FIELDS)[number], Entry> &
  Readonly<Record<string, Entry>>;

function tiersOf(list: Entry): ({ aboveInputTokens: number } & PartialTokenRates)[] {
  return list.list().flatMap((tier) => {
    const tierFields = tier.fields('above_input_tokens', ...fieldNames);
    const threshold = tierFields['above_input_tokens'];
    const aboveInputTokens = threshold?.isAbsent ? threshold.fault('is missing') : threshold?.wholeNumber(1);
    return aboveInputTokens === undefined ? [] : [{ aboveInputTokens, ...ratesOf(tierFields) }];
  });
}

function amountsOf(entries: Readonly<Record<string, Entry>>): Record<string, bigint> {
  return Object.fromEntries(
    Object.entries(entries).flatMap(([name, entry]): [string, bigint][] => {
      const nano = amount(entry);
      return nano === undefined ? [] : [[name, nano]];
    }),
  );
}

type ModeFields = Record<'multiplier' | 'tiers', Entry> & Readonly<Record<string, Entry>>;
type Mode = NonNullable<Parameters<typeof priceRates>[0]['modes']>[string];

function modesOf(field: string, entry: Entry): [string, Mode][] {
  return entry.named().map(([value, mode]) => {
    const modeFields = mode.fields('multiplier', 'tiers', ...fieldNames) as ModeFields;
    const { multiplier, tiers, ...rates } = modeFields;
    const ownRates = ratesOf(rates);
    const hasOwnRates = Object.keys(ownRates).length > 0;
    if (multiplier.isAbsent && !hasOwnRates) mode.fault('expected a multiplier or rates');
    for (const name of hasOwnRates ? (['input', 'output'] as const) : [])
      if (ownRates[name] === undefined)
        mode.fault(`${name} is missing: rates of a mode's own are all its rates`);
    if (!hasOwnRates && !tiers.isAbsent) tiers.fault('belongs to rates of its own');
    return [
      `${field}=${value}`,
      {
        ...(multiplier.isAbsent ? {} : { multiplier: millionths(multiplier) }),
        rates: hasOwnRates ? { ...ownRates, tiers: tiersOf(tiers) } : null,
      },
    ];
  });
}

function millionths(entry: Entry): bigint | undefined {
  const text = entry.text();
  if (text === undefined) return undefined;
  try {
    return parseMultiplier(text);
  } catch (error) {
    return entry.fault(error instanceof Fault ? error.humanMessage : String(error));
  }
}

function amount(entry: Entry | undefined): bigint | undefined {
  const text = entry?.text();
  if (entry === undefined || text === undefined) return undefined;
  try {
    return parseUsdPerMillion(text);
  } catch (error) {
    return entry.fault(error instanceof Fault ? error.humanMessage : String(error));
  }
}

function completeRates(entry: Entry, rates: Parameters<typeof priceRates>[0]): PriceRates | undefined {
  try {
    return priceRates(rates);
  } catch (error) {
    return entry.fault(error instanceof Fault ? error.humanMessage : String(error));
  }
}
