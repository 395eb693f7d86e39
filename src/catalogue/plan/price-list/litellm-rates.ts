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
import type { OfferedRates } from './tiered-rates';

type PriceRatesInput = Parameters<typeof priceRates>[0];
type Uses = Partial<Record<UseName, bigint>>;

/** Rates of a model. `images` are its pictures by quality and size, which are separate entries in the list. */
export function ratesIn(
  entry: LitellmEntry,
  kind: ModelKind,
  provider: string,
  images: Readonly<Record<string, bigint>> = {},
): PriceRates {
  const ratesByTier = entry.tieredRates();
  const defaultRates = ratesByTier.get('')!;
  const unit = unitOf(entry, kind, defaultRates.base, images);
  const modes: Record<string, { multiplier?: bigint; rates?: PriceRatesInput }> = {};
  for (const [tier, tierRates] of ratesByTier)
    if (tier !== '') modes[`service_tier=${tier}`] = { rates: tierRates.completedFrom(defaultRates).given() };
  return priceRates({
    ...defaultRates.given(),
    ...unit,
    modes: { ...modes, ...multipliersIn(entry) },
    uses: usesIn(entry, provider),
  });
}

/**
 * The unit is sold in addition to tokens or instead of them. Only one unit counts, because other units in the list
 * repeat the same price.
 */
function unitOf(
  entry: LitellmEntry,
  kind: ModelKind,
  base: OfferedRates,
  images: Readonly<Record<string, bigint>>,
): PriceRatesInput {
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

/** Speech is priced by audio tokens if they have a price, else per character, else per minute of output. */
function speechUnit(entry: LitellmEntry, base: OfferedRates): PriceRatesInput {
  if (isPositive(base.audioOutput) || isPositive(base.output)) return {};
  const character = entry.price('input_cost_per_character');
  if (character !== undefined) return { input: parseUsdPerToken(character) };
  const perMinuteNano = perMinute(entry, 'output_cost_per_second');
  if (perMinuteNano !== undefined) return { perMinuteNano, input: 0n };
  assertPriced('speech', base);
  return {};
}

function pictureUnit(
  entry: LitellmEntry,
  base: OfferedRates,
  images: Readonly<Record<string, bigint>>,
): PriceRatesInput {
  if (isTokenPriced(base)) return {};
  if (Object.keys(images).length > 0) return { images };
  const picture = entry.price('output_cost_per_image') ?? entry.price('input_cost_per_image');
  if (picture !== undefined) return { perCallNano: parseUsd(picture) };
  throw new RangeError('it has no price of pictures that is charged here');
}

export const isTokenPriced = ({ output, imageOutput }: OfferedRates | PriceRates): boolean =>
  isPositive(imageOutput) || isPositive(output);

const isPositive = (rate: bigint | null | undefined): boolean => !!rate;

function perMinute(entry: LitellmEntry, key: string): bigint | undefined {
  const second = entry.price(key);
  return second === undefined ? undefined : parseUsd(second) * 60n;
}

const REGION_CODE = /^[a-z]{2}$/;

/** `fast` is a speed and two letters are a region; other keys are hints for users of the list. */
function multipliersIn(entry: LitellmEntry): Record<string, { multiplier: bigint }> {
  if (!entry.has(SPECIFIC)) return {};
  const group = entry.group(SPECIFIC);
  const modes: Record<string, { multiplier: bigint }> = {};
  for (const key of group.keys()) {
    const mode = key === 'fast' ? 'speed=fast' : REGION_CODE.test(key) ? `inference_geo=${key}` : undefined;
    const text = mode === undefined ? undefined : group.price(key);
    if (mode !== undefined && text !== undefined) modes[mode] = { multiplier: parseMultiplier(text) };
  }
  entry.addUnknownKeys(group.unreadKeys(NO_KEYS).map((key) => `${SPECIFIC}.${key}`));
  return modes;
}

const NO_KEYS: ReadonlySet<string> = new Set();
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
 * Searches are priced by context size; without a size, the medium price applies, as for suppliers. For grounding
 * searches, the list has to say whether they are sold per query or per prompt.
 */
function searchesIn(entry: LitellmEntry, provider: string): Uses {
  if (!entry.has(SEARCH)) return {};
  const grounding = GROUNDING[entry.text('web_search_billing_unit') ?? ''];
  if (GROUNDS.test(provider) && grounding === undefined) return {};
  const uses: Uses = {};
  const flatPrice = entry.price(SEARCH);
  if (flatPrice !== undefined) uses.web_search = parseUsd(flatPrice);
  else {
    const group = entry.group(SEARCH);
    for (const size of SIZES) {
      const text = group.price(`search_context_size_${size}`);
      if (text === undefined) continue;
      uses[`web_search_${size}`] = parseUsd(text);
      uses.web_search ??= parseUsd(text);
    }
    entry.addUnknownKeys(group.unreadKeys(NO_KEYS).map((key) => `${SEARCH}.${key}`));
  }
  if (grounding !== undefined && uses.web_search !== undefined) uses[grounding] = uses.web_search;
  return uses;
}
