import { Fault, parseUsdPerMillion, type PriceRates, priceRates, RATE_NAMES } from '../../kernel';
import { columnOf } from './current';
import type { DesiredPrice, DesiredSchedule } from './desired';
import type { Entry } from './entry';

/** As the file calls them: `cache_read`. */
const rateFields = new Map(RATE_NAMES.map((name) => [name, columnOf(name)]));
const fieldNames = [...rateFields.values()];

type Rates = Partial<Record<(typeof RATE_NAMES)[number], bigint>>;

export function readPrice(entry: Entry): DesiredPrice | null {
  if (entry.isAbsent) return null;
  const fields = entry.fields(...fieldNames, 'per_call', 'per_minute', 'tiers');
  const faultless = tracker();
  const rates = ratesOf(fields, faultless);
  const perCallNano = amount(fields['per_call'], faultless) ?? 0n;
  const perMinuteNano = amount(fields['per_minute'], faultless) ?? 0n;
  const tiers = fields['tiers']?.list().flatMap((tier) => {
    const below = tier.fields('above_input_tokens', ...fieldNames);
    const threshold = below['above_input_tokens'];
    const aboveInputTokens = threshold?.isAbsent ? threshold.fault('is missing') : threshold?.wholeNumber(1);
    return aboveInputTokens === undefined ? [] : [{ aboveInputTokens, ...ratesOf(below, faultless) }];
  });
  if (Object.keys(rates).length === 0 && perCallNano + perMinuteNano === 0n && !faultless.stated)
    return entry.fault('expected at least one rate') ?? null;
  const price = complete(entry, { ...rates, perCallNano, perMinuteNano, tiers: tiers ?? [] });
  return price === undefined ? null : { at: entry, rates: price };
}

export function readSchedules(entry: Entry): DesiredSchedule[] | null {
  if (entry.isAbsent) return null;
  const schedules = entry.list().flatMap((one): DesiredSchedule[] => {
    const { from, to, price } = one.fields('from', 'to', 'price');
    if (price.isAbsent) price.fault('is missing');
    const startsAt = from.isAbsent ? from.fault('is missing') : from.instant();
    const endsAt = to.isAbsent ? null : to.instant();
    const rates = readPrice(price)?.rates;
    if (startsAt === undefined || endsAt === undefined || rates === undefined) return [];
    if (endsAt !== null && endsAt <= startsAt) to.fault('has to be later than "from"');
    return [{ at: one, startsAt, endsAt, rates }];
  });
  schedules.sort((a, b) => a.startsAt.getTime() - b.startsAt.getTime());
  schedules.forEach(({ startsAt }, place) => {
    const before = schedules[place - 1];
    if (before !== undefined && (before.endsAt === null || before.endsAt > startsAt))
      entry.fault(`two schedules cover ${startsAt.toISOString()}`);
  });
  return schedules;
}

interface Tracker {
  /** Whether any amount was written, even one of zero or a faulty one. */
  stated: boolean;
}
const tracker = (): Tracker => ({ stated: false });

function ratesOf(fields: Readonly<Record<string, Entry>>, seen: Tracker): Rates {
  const rates: Rates = {};
  for (const [name, field] of rateFields) {
    const rate = amount(fields[field], seen);
    if (rate !== undefined) rates[name] = rate;
  }
  return rates;
}

function amount(entry: Entry | undefined, seen: Tracker): bigint | undefined {
  const text = entry?.text();
  if (entry === undefined || text === undefined) return undefined;
  seen.stated = true;
  try {
    return parseUsdPerMillion(text);
  } catch (error) {
    return entry.fault(error instanceof Fault ? error.humanMessage : String(error));
  }
}

function complete(entry: Entry, rates: Parameters<typeof priceRates>[0]): PriceRates | undefined {
  try {
    return priceRates(rates);
  } catch (error) {
    return entry.fault(error instanceof Fault ? error.humanMessage : String(error));
  }
}
