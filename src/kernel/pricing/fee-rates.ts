import {
  ADVISOR,
  ANY_MODE,
  type AskedFees,
  isUsualMode,
  MODE_FIELDS,
  type ModeField,
  type Modes,
  type UseName,
} from '../usage';
import { entryOf } from '../entry-of';
import type { PriceMode, PriceRates, TokenRates } from './rates';

/** Uses that every known supplier bills by their tokens alone: they cost nothing more unless a price says so. */
const FREE_UNLESS_PRICED: ReadonlySet<UseName> = new Set(['url_fetch', 'computer_use']);

/** Grounding is sold by the prompt or by the query: a price of the one makes the other part of it. */
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

/** One use costs this; undefined where the price does not say. */
function useRate({ uses }: PriceRates, name: UseName): bigint | undefined {
  const general = GENERAL[name];
  const rate = uses[name] ?? (general === undefined ? undefined : uses[general]);
  if (rate !== undefined) return rate;
  const other = EITHER_OR[name];
  if (FREE_UNLESS_PRICED.has(name) || (other !== undefined && uses[other] !== undefined)) return 0n;
  return undefined;
}

/** The charge for a reported use: one without a price costs as much as the dearest priced one. */
export const chargedUseRate = (price: PriceRates, name: UseName): bigint =>
  useRate(price, name) ?? dearest(Object.values(price.uses));

/** One picture costs this; undefined where the price does not say. */
function imageRate({ images }: PriceRates, key: string): bigint | undefined {
  const [quality = '', size = ''] = key.split('/');
  const ofSize = BEST_QUALITIES.has(quality) ? undefined : entryOf(images, size);
  return entryOf(images, key) ?? ofSize ?? entryOf(images, quality);
}

/** Sold at a multiple of the others: a price by the call or by sizes alone does not cover them. */
const BEST_QUALITIES: ReadonlySet<string> = new Set(['high', 'hd']);

/** Where a price tells no pictures, it means their tokens: at the rate of output, unless they have one of their own. */
export const isSoldByTokens = ({ images, imageOutput, output }: PriceRates): boolean =>
  imageOutput !== null || (Object.keys(images).length === 0 && output > 0n);

export const chargedImageRate = (price: PriceRates, key: string): bigint =>
  imageRate(price, key) ?? dearest(Object.values(price.images));

const dearest = (rates: readonly bigint[]): bigint =>
  rates.reduce((most, rate) => (rate > most ? rate : most), 0n);

const modeName = (field: ModeField, value: string): string => `${field}=${value}`;

/** One supplier takes `fast` for its `priority`. */
function modeOf({ modes }: PriceRates, field: ModeField, value: string): PriceMode | undefined {
  const own = modes[modeName(field, value)];
  if (own !== undefined || field !== 'service_tier' || value !== 'fast') return own;
  return modes[modeName(field, 'priority')];
}

const ofField = ({ modes }: PriceRates, field: ModeField): PriceMode[] =>
  Object.keys(modes)
    .filter((name) => name.startsWith(`${field}=`))
    .map((name) => modes[name]!);

/** Tokens of another model within a request cost this; undefined where the price does not say. */
export const advisorRates = ({ modes }: PriceRates, model: string): TokenRates | undefined =>
  modes[`${ADVISOR}=${model}`]?.rates ?? undefined;

export const allAdvisorRates = ({ modes }: PriceRates): TokenRates[] =>
  Object.entries(modes).flatMap(([name, { rates }]) =>
    name.startsWith(`${ADVISOR}=`) && rates !== null ? [rates] : [],
  );

/** The modes a request is served in, or may be served in, together. */
export type ModeSet = readonly PriceMode[];
const USUAL_MODES: readonly ModeSet[] = [[]];

/** Usually it is one set. Modes without a price stand for all that the field has: the dearest of them is charged. */
export function modesServed(price: PriceRates, served: Modes | null): readonly ModeSet[] {
  if (served === null) return USUAL_MODES;
  return combined(
    MODE_FIELDS.map((field) => {
      const value = served[field];
      if (value === undefined || isUsualMode(field, value)) return [null];
      const mode = modeOf(price, field, value);
      return mode === undefined ? [null, ...ofField(price, field)] : [mode];
    }),
  );
}

/** Every set of modes that may serve the request: what was asked for, and the usual, since suppliers step down. */
export function modesPossible(price: PriceRates, asked: Modes): readonly ModeSet[] {
  return combined(
    MODE_FIELDS.map((field) => {
      const value = asked[field];
      if (value === undefined || isUsualMode(field, value)) return [null];
      const mode = modeOf(price, field, value);
      return mode === undefined ? [null, ...ofField(price, field)] : [null, mode];
    }),
  );
}

function combined(choices: readonly (readonly (PriceMode | null)[])[]): readonly ModeSet[] {
  let sets: readonly ModeSet[] = USUAL_MODES;
  for (const choice of choices) {
    if (choice.length === 1 && choice[0] === null) continue;
    sets = sets.flatMap((set) => choice.map((mode) => (mode === null ? set : [...set, mode])));
  }
  return sets;
}

/** The first requested item that this price does not cover; null where all of it can be charged. */
export function unpricedFee(
  price: PriceRates,
  { uses, modes, image, advisors = [] }: AskedFees,
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
