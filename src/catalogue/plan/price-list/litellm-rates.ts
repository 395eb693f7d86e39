import type { ModelKind } from '../../entities';
import {
  parseMultiplier,
  parseUsd,
  parseUsdPerThousand,
  parseUsdPerToken,
  type PriceRates,
  priceRates,
  type UseName,
} from '../../../kernel';
import type { LitellmEntry } from './litellm-entry';
import { assertPriced } from './offer';
import type { Rates } from './rate-sheet';

type GivenRates = Parameters<typeof priceRates>[0];
type Uses = Partial<Record<UseName, bigint>>;

/**
 * A model costs these rates. `images` are its pictures by quality and size, which the list holds as entries
 * of their own.
 */
export function ratesIn(
  entry: LitellmEntry,
  kind: ModelKind,
  provider: string,
  images: Readonly<Record<string, bigint>> = {},
): PriceRates {
  const sheets = entry.tokenSheets();
  const usual = sheets.get('')!;
  const unit = unitOf(entry, kind, usual.base, images);
  const modes: Record<string, { multiplier?: bigint; rates?: GivenRates }> = {};
  for (const [tier, sheet] of sheets)
    if (tier !== '') modes[`service_tier=${tier}`] = { rates: sheet.completedBy(usual).given() };
  return priceRates({
    ...usual.given(),
    ...unit,
    modes: { ...modes, ...multipliersIn(entry) },
    uses: usesIn(entry, provider),
  });
}

/** The unit is sold beside tokens or in their place. One unit alone: others of the list say the same thing again. */
function unitOf(
  entry: LitellmEntry,
  kind: ModelKind,
  base: Rates,
  images: Readonly<Record<string, bigint>>,
): GivenRates {
  const perCall = callPrice(entry);
  const call = perCall === undefined ? {} : { perCallNano: perCall };
  if (kind === 'speech') return { ...call, ...speechUnit(entry, base) };
  if (kind === 'image') return { ...call, ...pictureUnit(entry, base, images) };
  if (kind === 'transcription' && !isPositive(base.input) && !isPositive(base.audioInput)) {
    const perMinuteNano = perMinute(entry, 'input_cost_per_second');
    if (perMinuteNano !== undefined) return { ...call, perMinuteNano };
  }
  if (perCall === undefined && Object.keys(base).length === 0)
    throw new RangeError('it has no price of a kind that is charged here');
  assertPriced(kind, base);
  return call;
}

function callPrice(entry: LitellmEntry): bigint | undefined {
  const text = entry.price('input_cost_per_query') ?? entry.price('input_cost_per_request');
  return text === undefined ? undefined : parseUsd(text);
}

/**
 * Speech is sold by tokens of sound where they have a price, else by the character, else by the minute of what was
 * made.
 */
function speechUnit(entry: LitellmEntry, base: Rates): GivenRates {
  if (isPositive(base.audioOutput) || isPositive(base.output)) return {};
  const character = entry.price('input_cost_per_character');
  if (character !== undefined) return { input: parseUsdPerToken(character) };
  const perMinuteNano = perMinute(entry, 'output_cost_per_second');
  if (perMinuteNano !== undefined) return { perMinuteNano, input: 0n };
  assertPriced('speech', base);
  return {};
}

function pictureUnit(entry: LitellmEntry, base: Rates, images: Readonly<Record<string, bigint>>): GivenRates {
  if (isTokenPriced(base)) return {};
  if (Object.keys(images).length > 0) return { images };
  const picture = entry.price('output_cost_per_image') ?? entry.price('input_cost_per_image');
  if (picture !== undefined) return { perCallNano: parseUsd(picture) };
  throw new RangeError('it has no price of pictures that is charged here');
}

/** Pictures that are sold by their tokens have no price of their own. */
export const isTokenPriced = ({ output, imageOutput }: Rates | PriceRates): boolean =>
  isPositive(imageOutput) || isPositive(output);

const isPositive = (rate: bigint | null | undefined): boolean => !!rate;

function perMinute(entry: LitellmEntry, key: string): bigint | undefined {
  const second = entry.price(key);
  return second === undefined ? undefined : parseUsd(second) * 60n;
}

const PLACE = /^[a-z]{2}$/;

/** `fast` is a speed, two letters are a place; what else stands there is a hint of the list's own. */
function multipliersIn(entry: LitellmEntry): Record<string, { multiplier: bigint }> {
  if (!entry.has(SPECIFIC)) return {};
  const given = entry.group(SPECIFIC);
  const modes: Record<string, { multiplier: bigint }> = {};
  for (const key of given.keys()) {
    const mode = key === 'fast' ? 'speed=fast' : PLACE.test(key) ? `inference_geo=${key}` : undefined;
    const text = mode === undefined ? undefined : given.price(key);
    if (mode !== undefined && text !== undefined) modes[mode] = { multiplier: parseMultiplier(text) };
  }
  entry.note(given.left(NONE).map((key) => `${SPECIFIC}.${key}`));
  return modes;
}

const NONE: ReadonlySet<string> = new Set();
const SPECIFIC = 'provider_specific_entry';
const SEARCH = 'search_context_cost_per_query';
const SIZES = ['medium', 'high', 'low'] as const;
const GROUNDING: Readonly<Record<string, UseName>> = {
  per_query: 'grounding_query',
  per_prompt: 'grounded_prompt',
};
const GROUNDS = /^(?:gemini|vertex_ai)/;

function usesIn(entry: LitellmEntry, provider: string): Uses {
  const uses = searchesIn(entry, provider);
  const files = entry.price('file_search_cost_per_1k_calls');
  const session = entry.price('code_interpreter_cost_per_session');
  const maps = entry.price('google_maps_grounding_cost_per_query');
  if (files !== undefined) uses.file_search = parseUsdPerThousand(files);
  if (session !== undefined) uses.code_execution = parseUsd(session);
  if (maps !== undefined) uses.maps_grounding = parseUsd(maps);
  return uses;
}

/**
 * Searches are priced by the size of the context; one without a size is of the medium, which suppliers take for the
 * usual. Where searches ground an answer, the list has to say whether they are sold by the query or by the prompt.
 */
function searchesIn(entry: LitellmEntry, provider: string): Uses {
  if (!entry.has(SEARCH)) return {};
  const grounding = GROUNDING[entry.text('web_search_billing_unit') ?? ''];
  if (GROUNDS.test(provider) && grounding === undefined) return {};
  const uses: Uses = {};
  const bare = entry.price(SEARCH);
  if (bare !== undefined) uses.web_search = parseUsd(bare);
  else {
    const given = entry.group(SEARCH);
    for (const size of SIZES) {
      const text = given.price(`search_context_size_${size}`);
      if (text === undefined) continue;
      uses[`web_search_${size}`] = parseUsd(text);
      uses.web_search ??= parseUsd(text);
    }
    entry.note(given.left(NONE).map((key) => `${SEARCH}.${key}`));
  }
  if (grounding !== undefined && uses.web_search !== undefined) uses[grounding] = uses.web_search;
  return uses;
}
