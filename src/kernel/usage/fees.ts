/**
 * Uses that suppliers bill in addition to tokens; prices, records and documents share this closed list.
 * `web_search_low` names the search context size, `code_execution_4g` the container memory, by default 1 GB.
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

/** Fields of a request and its response that change the price of every token. */
export const MODE_FIELDS = ['service_tier', 'speed', 'inference_geo'] as const;
export type ModeField = (typeof MODE_FIELDS)[number];
/** A price stores the rates of another model that a supplier calls within a request like those of a mode. */
export const ADVISOR = 'advisor';
export const RATE_FIELDS = [...MODE_FIELDS, ADVISOR] as const;
export type Modes = Readonly<Partial<Record<ModeField, string>>>;

const USUAL: Readonly<Record<ModeField, ReadonlySet<string>>> = {
  service_tier: new Set(['default', 'standard', 'standard_only', 'on_demand']),
  speed: new Set(['standard']),
  inference_geo: new Set(['global', 'not_available']),
};

/** The supplier chooses, and can choose every mode that it offers. */
export const ANY_MODE = 'auto';
/** Batches use other routes: a request for the batch rate does not get it. */
const BATCH = 'batch';

export const isUsualMode = (field: ModeField, value: string): boolean => USUAL[field].has(value);

const MODE_PATTERN = /^[a-z0-9][a-z0-9_.-]{0,39}$/;
/** Stands for values that no price can name. */
const UNKNOWN_MODE = 'unknown';

/** Returns the modes in these fields; null if there are none. */
export function readModes(fields: Readonly<Record<string, unknown>>): Modes | null {
  let modes: Partial<Record<ModeField, string>> | null = null;
  for (const field of MODE_FIELDS) {
    const value = fields[field];
    if (typeof value !== 'string' || value === '') continue;
    modes ??= {};
    const mode = value.toLowerCase();
    modes[field] = MODE_PATTERN.test(mode) ? mode : UNKNOWN_MODE;
  }
  return modes;
}

/** Charges that a request might cause in addition to ordinary text tokens. */
export interface RequestedFees {
  /** Maximum uses of each kind. */
  readonly uses: UseCounts;
  /** As requested; `auto` is the supplier's choice. */
  readonly modes: Modes;
  /** Quality and size of the images, like `hd/1024x1792`; null if none are requested. */
  readonly image: string | null;
  /** Models that the supplier might call in addition to the main one. */
  readonly advisors?: readonly string[];
}

export const NO_REQUESTED_FEES: RequestedFees = Object.freeze({ uses: {}, modes: {}, image: null });

/**
 * Modes to charge: those that the supplier reports, otherwise those requested. Modes at the usual price are omitted.
 */
export function servedModes(served: Modes | null, requested: Modes): Modes | null {
  let modes: Partial<Record<ModeField, string>> | null = null;
  for (const field of MODE_FIELDS) {
    const reported = served?.[field];
    const value = reported ?? requested[field];
    if (value === undefined || value === ANY_MODE || isUsualMode(field, value)) continue;
    if (reported === undefined && value === BATCH) continue;
    modes ??= {};
    modes[field] = value;
  }
  return modes;
}
