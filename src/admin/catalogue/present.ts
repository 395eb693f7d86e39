import {
  modelFields,
  type ModelSheet,
  type ProviderSheet,
  type SheetPrice,
  type SheetSchedule,
} from '../../catalogue';
import { formatUsd, type PriceRates, type RateField, RATES, toJsonNumber, versionOf } from '../../kernel';
import { factsOf } from '../../vendors';

/** The catalogue as JSON for programs. */
export const presentModel = (sheet: ModelSheet) => {
  const { model, lanes, aliases, redirectTo, overflowTo, price, version } = sheet;
  return {
    object: 'model',
    model: model.name,
    ...modelFields.toJson('answer', model),
    redirect_to: redirectTo,
    overflow_to: overflowTo,
    aliases,
    managed: model.managed,
    lanes: lanes.map(
      ({ provider, upstreamModel, region, weight, retries, facts, wire, enabled, visible }) => ({
        provider,
        upstream_model: upstreamModel,
        region,
        weight,
        retries,
        facts,
        known_model: factsOf(facts ?? upstreamModel)?.id ?? null,
        wire,
        enabled,
        provider_visible: visible,
      }),
    ),
    price: price === null ? null : presentPrice(price),
    version,
  };
};

export const presentPrice = ({ id, rates, validFrom, source }: SheetPrice) => ({
  price_id: id,
  currency: 'USD',
  ...pricesOf(rates, toJsonNumber),
  valid_from: validFrom?.toISOString() ?? null,
  source,
});

/** The rates under the names of the forms; null where another rate applies instead. */
export const pricesOf = <T>(rates: PriceRates, show: (nano: bigint) => T): Record<RateField, T | null> =>
  Object.fromEntries(
    RATES.map(({ name, field }) => {
      const nano = rates[name];
      return [field, nano === null ? null : show(nano)];
    }),
  ) as Record<RateField, T | null>;

export const presentSchedule = (schedule: SheetSchedule) => ({
  id: schedule.id,
  starts_at: schedule.startsAt.toISOString(),
  ends_at: schedule.endsAt?.toISOString() ?? null,
  price: presentPrice(schedule.price),
  version: scheduleVersion(schedule),
});

export const scheduleVersion = ({ price, startsAt, endsAt }: SheetSchedule): string =>
  versionOf({ price: price.id, startsAt, endsAt });

export const presentProvider = ({ provider, credentials, version }: ProviderSheet) => ({
  object: 'provider',
  id: provider.id,
  name: provider.name,
  style: provider.style,
  base_url: provider.baseUrl,
  regions: provider.regions,
  visible: provider.visible,
  managed: provider.managed,
  settings: provider.settings,
  timeouts: provider.timeouts,
  breaker: provider.breaker,
  secrets: credentials.map(({ id, label, kind, last4, health, fits, createdAt }) => ({
    id,
    label,
    kind,
    last4,
    health,
    fits,
    created_at: createdAt.toISOString(),
  })),
  version,
});

/** The values that the activity log compares. */
export const recordedModel = ({ model, lanes, overflowTo }: ModelSheet) => ({
  ...modelFields.toJson('record', model),
  overflow_to: overflowTo,
  lanes: lanes.map(
    ({ provider, upstreamModel, region, weight, retries, facts, wire, enabled }) =>
      `${provider} ${upstreamModel} ${region} ×${weight}${retries > 0 ? ` +${retries}` : ''}` +
      `${facts === null ? '' : ` as ${facts}`}${wire === null ? '' : ` by ${wire}`}${enabled ? '' : ' off'}`,
  ),
});

/** It includes what its repair sets beside the fields of a form. */
export const recordedFixture = (sheet: ModelSheet) => ({
  ...recordedModel(sheet),
  state: sheet.model.state,
  redirect_to: sheet.redirectTo,
});

export const recordedPrice = (price: SheetPrice | null) =>
  price === null ? null : { ...pricesOf(price.rates, formatUsd), source: price.source };

export const recordedProvider = ({ provider, credentials }: ProviderSheet) => ({
  name: provider.name,
  style: provider.style,
  base_url: provider.baseUrl,
  regions: provider.regions,
  settings: provider.settings,
  timeouts: provider.timeouts,
  breaker: provider.breaker,
  labels: credentials.map(({ label }) => label),
});
