import {
  FLAT_RATES,
  formatMultiplier,
  formatUsd,
  type PriceRates,
  snakeCased,
  TOKEN_RATES,
  type TokenRates,
  UNCHANGED,
} from '../../kernel';
import { modelFields, type ModelValues } from '../entities';
import { leavesOf } from '../leaves';
import type { CurrentLane, CurrentProvider } from './current.query';

export type FieldTexts = ReadonlyMap<string, string>;

export interface FieldChange {
  readonly field: string;
  /** Null if the field is absent. */
  readonly before: string | null;
  readonly after: string | null;
}

export function changesBetween(before: FieldTexts, after: FieldTexts): FieldChange[] {
  const names = new Set([...after.keys(), ...before.keys()]);
  return [...names].flatMap((field) => {
    const change = { field, before: before.get(field) ?? null, after: after.get(field) ?? null };
    return change.before === change.after ? [] : [isSecret(field) ? hideValues(change) : change];
  });
}

export const NO_TEXTS: FieldTexts = new Map();

/** Settings are free-form data, so values whose name suggests a secret are hidden. */
const isSecret = (field: string): boolean =>
  field.startsWith('settings.') && /(secret|password|token|api_?key)$/i.test(field);

const hideValues = ({ field, before, after }: FieldChange): FieldChange => ({
  field,
  before: before === null ? null : 'set',
  after: after === null ? null : before === null ? 'set' : 'changed',
});

export function providerTexts(provider: Omit<CurrentProvider, 'id' | 'name' | 'credentials'>): FieldTexts {
  const texts = new Map([
    ['style', provider.style],
    ['base_url', provider.baseUrl],
    ['regions', listText(provider.regions)],
    ['visible', String(provider.visible)],
    ['managed', String(provider.managed)],
  ]);
  for (const [name, value] of leavesOf(provider.settings)) texts.set(`settings.${name}`, value);
  for (const [name, value] of Object.entries(provider.timeouts))
    texts.set(`timeouts.${snakeCased(name)}`, `${value} ms`);
  for (const [name, value] of Object.entries(provider.breaker))
    texts.set(`breaker.${snakeCased(name)}`, name === 'failures' ? String(value) : `${value} ms`);
  return texts;
}

export const modelTexts = (model: ModelValues & { readonly managed: boolean }): FieldTexts =>
  new Map([...modelFields.texts(model), ['managed', String(model.managed)]]);

export const defaultTexts: FieldTexts = new Map([
  ...modelFields.defaultTexts,
  ['visible', 'true'],
  ['managed', 'true'],
  ['status', 'active'],
  ['allowed_models', 'every'],
  ['allowed_regions', 'every'],
]);

type PlannedRoute = Pick<CurrentLane, 'provider' | 'upstreamModel' | 'region'>;

export const routeName = ({ provider, upstreamModel, region }: PlannedRoute): string =>
  `lane ${provider} · ${upstreamModel} · ${region}`;

export function laneTexts(lanes: readonly Omit<CurrentLane, 'id' | 'price'>[]): FieldTexts {
  return new Map(
    lanes.map((lane) => {
      const { priority, weight, retries, facts, wire, enabled } = lane;
      const retriesText = retries > 0 ? `, retries ${retries}` : '';
      const factsText = facts === null ? '' : `, facts ${facts}`;
      const wireText = wire === null ? '' : `, wire ${wire}`;
      return [
        routeName(lane),
        `priority ${priority}, weight ${weight}${retriesText}${factsText}${wireText}${enabled ? '' : ', off'}`,
      ];
    }),
  );
}

export function priceTexts(prefix: string, rates: PriceRates): FieldTexts {
  const texts = new Map<string, string>();
  const addRate = (name: string, rate: bigint | null): void => {
    if (rate !== null) texts.set(`${prefix}${name}`, `$${formatUsd(rate)}`);
  };
  const addTokenRates = (mode: string, tokenRates: TokenRates): void => {
    for (const { name, word } of TOKEN_RATES) addRate(`${mode}${word}`, tokenRates[name]);
    for (const tier of tokenRates.tiers) {
      for (const { name, word } of TOKEN_RATES)
        addRate(`${mode}${word} above ${tier.aboveInputTokens} tokens`, tier[name]);
    }
  };
  addTokenRates('', rates);
  for (const { name, word } of FLAT_RATES) if (rates[name] > 0n) addRate(word, rates[name]);
  for (const [name, rate] of Object.entries(rates.uses)) addRate(`uses.${name}`, rate);
  for (const [name, rate] of Object.entries(rates.images)) addRate(`images.${name}`, rate);
  for (const [name, mode] of Object.entries(rates.modes)) {
    const label = name.replace('=', '.');
    if (mode.rates === null || mode.multiplier !== UNCHANGED)
      texts.set(`${prefix}${label}.multiplier`, formatMultiplier(mode.multiplier));
    if (mode.rates !== null) addTokenRates(`${label}.`, mode.rates);
  }
  return texts;
}

/** Sorted, because the order is not significant. */
const listText = (list: readonly string[]): string =>
  list.length === 0 ? 'none' : list.toSorted().join(', ');
