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
import type { CurrentLane, CurrentProvider } from './current';

/** A thing as a list of named texts: what two of them differ in is what a person is shown. */
export type FieldTexts = ReadonlyMap<string, string>;

export interface FieldChange {
  readonly field: string;
  /** Null: there is none. */
  readonly before: string | null;
  readonly after: string | null;
}

export function changesBetween(before: FieldTexts, after: FieldTexts): FieldChange[] {
  const names = new Set([...after.keys(), ...before.keys()]);
  return [...names].flatMap((field) => {
    const change = { field, before: before.get(field) ?? null, after: after.get(field) ?? null };
    return change.before === change.after ? [] : [isSecret(field) ? hidden(change) : change];
  });
}

export const noTexts: FieldTexts = new Map();

/** Settings are data of the operator's making; what sounds like a secret among them is not shown. */
const isSecret = (field: string): boolean =>
  field.startsWith('settings.') && /(secret|password|token|api_?key)$/i.test(field);

const hidden = ({ field, before, after }: FieldChange): FieldChange => ({
  field,
  before: before === null ? null : 'set',
  after: after === null ? null : before === null ? 'set' : 'changed',
});

export function providerTexts(provider: Omit<CurrentProvider, 'id' | 'name' | 'credentials'>): FieldTexts {
  const texts = new Map([
    ['style', provider.style],
    ['base_url', provider.baseUrl],
    ['regions', listed(provider.regions)],
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

/** Something new has these values unless the file says otherwise, so they are not worth a line. */
export const usualTexts: FieldTexts = new Map([
  ...modelFields.usualTexts,
  ['visible', 'true'],
  ['managed', 'true'],
  ['status', 'active'],
  ['allowed_models', 'every'],
  ['allowed_regions', 'every'],
]);

type Route = Pick<CurrentLane, 'provider' | 'upstreamModel' | 'region'>;

export const routeName = ({ provider, upstreamModel, region }: Route): string =>
  `lane ${provider} · ${upstreamModel} · ${region}`;

export function laneTexts(lanes: readonly Omit<CurrentLane, 'id' | 'price'>[]): FieldTexts {
  return new Map(
    lanes.map((lane) => {
      const { priority, weight, retries, facts, wire, enabled } = lane;
      const again = retries > 0 ? `, retries ${retries}` : '';
      const known = facts === null ? '' : `, facts ${facts}`;
      const spoken = wire === null ? '' : `, wire ${wire}`;
      return [
        routeName(lane),
        `priority ${priority}, weight ${weight}${again}${known}${spoken}${enabled ? '' : ', off'}`,
      ];
    }),
  );
}

/** The texts are in dollars, exactly. */
export function priceTexts(prefix: string, rates: PriceRates): FieldTexts {
  const texts = new Map<string, string>();
  const note = (name: string, rate: bigint | null): void => {
    if (rate !== null) texts.set(`${prefix}${name}`, `$${formatUsd(rate)}`);
  };
  const noteTokens = (mode: string, given: TokenRates): void => {
    for (const { name, word } of TOKEN_RATES) note(`${mode}${word}`, given[name]);
    for (const tier of given.tiers) {
      for (const { name, word } of TOKEN_RATES)
        note(`${mode}${word} above ${tier.aboveInputTokens} tokens`, tier[name]);
    }
  };
  noteTokens('', rates);
  for (const { name, word } of FLAT_RATES) if (rates[name] > 0n) note(word, rates[name]);
  for (const [name, rate] of Object.entries(rates.uses)) note(`uses.${name}`, rate);
  for (const [name, rate] of Object.entries(rates.images)) note(`images.${name}`, rate);
  for (const [name, mode] of Object.entries(rates.modes)) {
    const label = name.replace('=', '.');
    if (mode.rates === null || mode.multiplier !== UNCHANGED)
      texts.set(`${prefix}${label}.multiplier`, formatMultiplier(mode.multiplier));
    if (mode.rates !== null) noteTokens(`${label}.`, mode.rates);
  }
  return texts;
}

/** A list in no particular order: the order is no difference. */
const listed = (list: readonly string[]): string => (list.length === 0 ? 'none' : list.toSorted().join(', '));
