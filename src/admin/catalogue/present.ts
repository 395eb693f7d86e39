import {
  modelFields,
  type ModelDetail,
  type ProviderDetail,
  type ModelDetailPrice,
  type ModelDetailSchedule,
} from '../../catalogue';
import { formatUsd, type PriceRates, type RateField, RATES, toJsonNumber, versionOf } from '../../kernel';
import { factsOf } from '../../vendors';

export const presentModel = (details: ModelDetail) => {
  const { model, lanes, aliases, redirectTo, overflowTo, price, version } = details;
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

export const presentPrice = ({ id, rates, validFrom, source }: ModelDetailPrice) => ({
  price_id: id,
  currency: 'USD',
  ...pricesOf(rates, toJsonNumber),
  valid_from: validFrom?.toISOString() ?? null,
  source,
});

/** Rates under their form names; null if another rate applies instead. */
export const pricesOf = <T>(rates: PriceRates, format: (nano: bigint) => T): Record<RateField, T | null> =>
  Object.fromEntries(
    RATES.map(({ name, field }) => {
      const nano = rates[name];
      return [field, nano === null ? null : format(nano)];
    }),
  ) as Record<RateField, T | null>;

export const presentSchedule = (schedule: ModelDetailSchedule) => ({
  id: schedule.id,
  starts_at: schedule.startsAt.toISOString(),
  ends_at: schedule.endsAt?.toISOString() ?? null,
  price: presentPrice(schedule.price),
  version: scheduleVersion(schedule),
});

export const scheduleVersion = ({ price, startsAt, endsAt }: ModelDetailSchedule): string =>
  versionOf({ price: price.id, startsAt, endsAt });

export const presentProvider = ({ provider, credentials, version }: ProviderDetail) => ({
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

export const recordedModel = ({ model, lanes, overflowTo }: ModelDetail) => ({
  ...modelFields.toJson('record', model),
  overflow_to: overflowTo,
  lanes: lanes.map(
    ({ provider, upstreamModel, region, weight, retries, facts, wire, enabled }) =>
      `${provider} ${upstreamModel} ${region} ×${weight}${retries > 0 ? ` +${retries}` : ''}` +
      `${facts === null ? '' : ` as ${facts}`}${wire === null ? '' : ` by ${wire}`}${enabled ? '' : ' off'}`,
  ),
});

export const recordedFixture = (details: ModelDetail) => ({
  ...recordedModel(details),
  state: details.model.state,
  redirect_to: details.redirectTo,
});

export const recordedPrice = (price: ModelDetailPrice | null) =>
  price === null ? null : { ...pricesOf(price.rates, formatUsd), source: price.source };

export const recordedProvider = ({ provider, credentials }: ProviderDetail) => ({
  name: provider.name,
  style: provider.style,
  base_url: provider.baseUrl,
  regions: provider.regions,
  settings: provider.settings,
  timeouts: provider.timeouts,
  breaker: provider.breaker,
  labels: credentials.map(({ label }) => label),
});
