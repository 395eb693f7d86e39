/**
 * Suppliers bill these by the use, beside tokens. The list is closed: prices, records and documents know the
 * same names. The size in `web_search_low` is that of the search context, in `code_execution_4g` the memory
 * of the container; without one it is of 1 GB.
 */
export const USE_NAMES = [
  'web_search',
  'web_search_low',
  'web_search_medium',
  'web_search_high',
  'x_search',
  'file_search',
  'code_execution',
  'code_execution_4g',
  'code_execution_16g',
  'code_execution_64g',
  'image_generation',
  'image_generation_high',
  'grounded_prompt',
  'grounding_query',
  'maps_grounding',
  'url_fetch',
  'computer_use',
  'other_tool',
] as const;
export type UseName = (typeof USE_NAMES)[number];
export type UseCounts = Readonly<Partial<Record<UseName, number>>>;

/** These fields of a request and of its answer change what every token costs. */
export const MODE_FIELDS = ['service_tier', 'speed', 'inference_geo'] as const;
export type ModeField = (typeof MODE_FIELDS)[number];
/** The rates of another model that a supplier asks within a request stand in a price like those of a mode. */
export const ADVISOR = 'advisor';
export const RATE_FIELDS = [...MODE_FIELDS, ADVISOR] as const;
export type Modes = Readonly<Partial<Record<ModeField, string>>>;

/** These words mean "at the usual price". */
const USUAL: Readonly<Record<ModeField, ReadonlySet<string>>> = {
  service_tier: new Set(['default', 'standard', 'standard_only', 'on_demand']),
  speed: new Set(['standard']),
  inference_geo: new Set(['global', 'not_available']),
};

/** The supplier chooses, and may choose every mode that it offers. */
export const ANY_MODE = 'auto';
/** Batches are sent on other routes: a request that asks for their rate does not get it by asking. */
const BATCH = 'batch';

export const isUsualMode = (field: ModeField, value: string): boolean => USUAL[field].has(value);

const MODE_WORD = /^[a-z0-9][a-z0-9_.-]{0,39}$/;
/** Words that no price can name count as one, which none names. */
const UNKNOWN_MODE = 'unknown';

/** The modes that stand in these fields; null where there are none. */
export function readModes(fields: Readonly<Record<string, unknown>>): Modes | null {
  let modes: Partial<Record<ModeField, string>> | null = null;
  for (const field of MODE_FIELDS) {
    const value = fields[field];
    if (typeof value !== 'string' || value === '') continue;
    modes ??= {};
    const word = value.toLowerCase();
    modes[field] = MODE_WORD.test(word) ? word : UNKNOWN_MODE;
  }
  return modes;
}

/** A request may make its supplier bill these beside the tokens of ordinary text. */
export interface AskedFees {
  /** The most uses of each kind. */
  readonly uses: UseCounts;
  /** They stand as they were asked for; `auto` is the supplier's choice. */
  readonly modes: Modes;
  /** It is quality and size of the pictures, like `hd/1024x1792`; null where none are asked for. */
  readonly image: string | null;
  /** Models that the supplier may ask beside the one that answers. */
  readonly advisors?: readonly string[];
}

export const NOTHING_ASKED: AskedFees = Object.freeze({ uses: {}, modes: {}, image: null });

/**
 * Modes as they are charged: what the supplier says it served, else what was asked for. A mode at the usual price is
 * none.
 */
export function servedModes(served: Modes | null, asked: Modes): Modes | null {
  let modes: Partial<Record<ModeField, string>> | null = null;
  for (const field of MODE_FIELDS) {
    const told = served?.[field];
    const value = told ?? asked[field];
    if (value === undefined || value === ANY_MODE || isUsualMode(field, value)) continue;
    if (told === undefined && value === BATCH) continue;
    modes ??= {};
    modes[field] = value;
  }
  return modes;
}
