import {
  ADVISOR,
  ANY_MODE,
  type RequestedFees,
  isUsualMode,
  MODE_FIELDS,
  type ModeField,
  type Modes,
  type UseName,
} from '../usage';
import { entryOf } from '../entry-of';
import type { PriceMode, PriceRates, TokenRates } from './rates';

/** Uses that every known supplier bills only by tokens; free unless a price lists them. */
const FREE_UNLESS_PRICED: ReadonlySet<UseName> = new Set(['url_fetch', 'computer_use']);

/** Grounding is sold per prompt or per query: a price for one includes the other. */
const EITHER_OR: Readonly<Partial<Record<UseName, UseName>>> = {
  grounded_prompt: 'grounding_query',
  grounding_query: 'grounded_prompt',
};

const GENERAL: Readonly<Partial<Record<UseName, UseName>>> = {
  web_search_low: 'web_search',
  web_search_medium: 'web_search',
  web_search_high: 'web_search',
  x_search: 'other_tool',
};

/** Price of one use; undefined if the price does not list it. */
function useRate({ uses }: PriceRates, name: UseName): bigint | undefined {
  const general = GENERAL[name];
  const rate = uses[name] ?? (general === undefined ? undefined : uses[general]);
  if (rate !== undefined) return rate;
  const alternative = EITHER_OR[name];
  if (FREE_UNLESS_PRICED.has(name) || (alternative !== undefined && uses[alternative] !== undefined))
    return 0n;
  return undefined;
}

/** Charge for a reported use; one without a price costs as much as the most expensive priced one. */
export const chargedUseRate = (price: PriceRates, name: UseName): bigint =>
  useRate(price, name) ?? highestOf(Object.values(price.uses));

/** Price of one image; undefined if the price does not list it. */
function imageRate({ images }: PriceRates, key: string): bigint | undefined {
  const [quality = '', size = ''] = key.split('/');
  const ofSize = BEST_QUALITIES.has(quality) ? undefined : entryOf(images, size);
  return entryOf(images, key) ?? ofSize ?? entryOf(images, quality);
}

/** Sold at a multiple of other qualities, so a price per call or per size does not cover them. */
const BEST_QUALITIES: ReadonlySet<string> = new Set(['high', 'hd']);

/** A price without image prices charges image tokens, at the output rate unless they have their own. */
export const isSoldByTokens = ({ images, imageOutput, output }: PriceRates): boolean =>
  imageOutput !== null || (Object.keys(images).length === 0 && output > 0n);

export const chargedImageRate = (price: PriceRates, key: string): bigint =>
  imageRate(price, key) ?? highestOf(Object.values(price.images));

const highestOf = (rates: readonly bigint[]): bigint =>
  rates.reduce((highest, rate) => (rate > highest ? rate : highest), 0n);

const modeName = (field: ModeField, value: string): string => `${field}=${value}`;

/** A supplier accepts `fast` for its `priority`. */
function modeOf({ modes }: PriceRates, field: ModeField, value: string): PriceMode | undefined {
  const exactMode = modes[modeName(field, value)];
  if (exactMode !== undefined || field !== 'service_tier' || value !== 'fast') return exactMode;
  return modes[modeName(field, 'priority')];
}

const modesOfField = ({ modes }: PriceRates, field: ModeField): PriceMode[] =>
  Object.keys(modes)
    .filter((name) => name.startsWith(`${field}=`))
    .map((name) => modes[name]!);

/** Token rates of another model within a request; undefined if the price does not list it. */
export const advisorRates = ({ modes }: PriceRates, model: string): TokenRates | undefined =>
  modes[`${ADVISOR}=${model}`]?.rates ?? undefined;

export const allAdvisorRates = ({ modes }: PriceRates): TokenRates[] =>
  Object.entries(modes).flatMap(([name, { rates }]) =>
    name.startsWith(`${ADVISOR}=`) && rates !== null ? [rates] : [],
  );

/** Modes that serve, or might serve, a request together. */
export type ModeSet = readonly PriceMode[];
const USUAL_MODES: readonly ModeSet[] = [[]];

/**
 * Usually one set. A mode without a price stands for all modes of its field, of which the most expensive is charged.
 */
export function servedModeSets(price: PriceRates, served: Modes | null): readonly ModeSet[] {
  if (served === null) return USUAL_MODES;
  return combineModes(
    MODE_FIELDS.map((field) => {
      const value = served[field];
      if (value === undefined || isUsualMode(field, value)) return [null];
      const mode = modeOf(price, field, value);
      return mode === undefined ? [null, ...modesOfField(price, field)] : [mode];
    }),
  );
}

/** Every set of modes that might serve the request: the requested ones and the usual one, since suppliers step down. */
export function possibleModeSets(price: PriceRates, requested: Modes): readonly ModeSet[] {
  return combineModes(
    MODE_FIELDS.map((field) => {
      const value = requested[field];
      if (value === undefined || isUsualMode(field, value)) return [null];
      const mode = modeOf(price, field, value);
      return mode === undefined ? [null, ...modesOfField(price, field)] : [null, mode];
    }),
  );
}

function combineModes(choices: readonly (readonly (PriceMode | null)[])[]): readonly ModeSet[] {
  let sets: readonly ModeSet[] = USUAL_MODES;
  for (const choice of choices) {
    if (choice.length === 1 && choice[0] === null) continue;
    sets = sets.flatMap((set) => choice.map((mode) => (mode === null ? set : [...set, mode])));
  }
  return sets;
}

/** Returns the first requested item that this price does not cover; null if everything is covered. */
export function unpricedFee(
  price: PriceRates,
  { uses, modes, image, advisors = [] }: RequestedFees,
): string | null {
  for (const name of Object.keys(uses) as UseName[]) if (useRate(price, name) === undefined) return name;
  for (const model of advisors) if (advisorRates(price, model) === undefined) return `${ADVISOR} "${model}"`;
  for (const field of MODE_FIELDS) {
    const value = modes[field];
    if (value === undefined || value === ANY_MODE || isUsualMode(field, value)) continue;
    if (modeOf(price, field, value) === undefined) return `${field} "${value}"`;
  }
  if (image === null || image.includes(ANY_MODE) || imageRate(price, image) !== undefined) return null;
  if (Object.keys(price.images).length > 0) return `image ${image}`;
  const isByCall = price.perCallNano > 0n && !isSoldByTokens(price);
  return isByCall && BEST_QUALITIES.has(image.split('/')[0]!) ? `image ${image}` : null;
}
