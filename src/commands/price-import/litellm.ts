import type { ModelKind } from '../../catalogue';
import { Fault, parseUsd, parseUsdPerToken, priceRates, type PriceRates, RATE_NAMES } from '../../kernel';
import { countOf, decimalText, type Fields, fieldsOf, textsOf } from './exact-json';
import { assertPriced, type Offer, type PriceFormat, type PriceList, type Refused } from './offer';

type RateName = (typeof RATE_NAMES)[number];

/** Dollars for one token. The same with `_above_200k_tokens` is a tier. */
const TOKEN_PRICES: Readonly<Record<string, RateName>> = {
  input_cost_per_token: 'input',
  output_cost_per_token: 'output',
  cache_read_input_token_cost: 'cacheRead',
  cache_creation_input_token_cost: 'cacheWrite',
  cache_creation_input_token_cost_above_1hr: 'cacheWriteLong',
  output_cost_per_reasoning_token: 'reasoning',
  input_cost_per_audio_token: 'audioInput',
  output_cost_per_audio_token: 'audioOutput',
  input_cost_per_image_token: 'image',
};
const SECOND_PRICE = 'input_cost_per_second';
const CALL_PRICES = ['input_cost_per_query', 'output_cost_per_image'];
const TIERED = /^(.+)_above_(\d{1,5})k_tokens$/;

const KINDS: Readonly<Record<string, ModelKind>> = {
  chat: 'chat',
  completion: 'chat',
  responses: 'chat',
  embedding: 'embedding',
  rerank: 'rerank',
  audio_transcription: 'transcription',
  audio_speech: 'speech',
  image_generation: 'image',
  moderation: 'moderation',
};

const CAPABILITIES: Readonly<Record<string, string>> = {
  supports_function_calling: 'tools',
  supports_response_schema: 'json_schema',
  supports_prompt_caching: 'prompt_caching',
  supports_reasoning: 'reasoning',
};
const INPUT_MODALITIES: Readonly<Record<string, string>> = {
  supports_vision: 'image',
  supports_pdf_input: 'document',
  supports_audio_input: 'audio',
};
const READ = new Set([
  ...Object.keys(TOKEN_PRICES),
  SECOND_PRICE,
  ...CALL_PRICES,
  ...Object.keys(CAPABILITIES),
  ...Object.keys(INPUT_MODALITIES),
  'litellm_provider',
  'mode',
  'max_input_tokens',
  'max_output_tokens',
  'max_tokens',
  'supported_regions',
  'deprecation_date',
  'source',
]);
/** Explanations of the format among the models. */
const SKIPPED = new Set(['sample_spec', 'fallback_generalizations']);

export const litellmPrices: PriceFormat = {
  name: 'litellm-prices',
  read(content): PriceList {
    const offers: Offer[] = [];
    const refused: Refused[] = [];
    const unknownKeys: { provider: string; key: string }[] = [];
    for (const [id, value] of Object.entries(fieldsOf(content))) {
      if (SKIPPED.has(id)) continue;
      const fields = fieldsOf(value);
      const provider = typeof fields['litellm_provider'] === 'string' ? fields['litellm_provider'] : '';
      const strange = Object.keys(fields).filter((key) => !READ.has(key) && tierOf(key) === undefined);
      unknownKeys.push(...strange.map((key) => ({ provider, key })));
      try {
        offers.push(offerOf(id, provider, fields));
      } catch (error) {
        if (!(error instanceof Fault || error instanceof RangeError)) throw error;
        const reason = error instanceof Fault ? error.humanMessage : error.message;
        refused.push({ id, provider, reason });
      }
    }
    return { offers, refused, unknownKeys };
  },
};

function offerOf(id: string, provider: string, fields: Fields): Offer {
  const mode = typeof fields['mode'] === 'string' ? fields['mode'] : 'chat';
  const kind = KINDS[mode];
  if (kind === undefined) throw new RangeError(`models of the kind "${mode}" are not served here`);
  const held = (names: Readonly<Record<string, string>>): string[] =>
    Object.entries(names).flatMap(([key, word]) => (fields[key] === true ? [word] : []));
  const end = fields['deprecation_date'];
  return {
    id,
    provider,
    displayName: id,
    kind,
    contextTokens: countOf(fields['max_input_tokens']) ?? countOf(fields['max_tokens']),
    maxOutputTokens: countOf(fields['max_output_tokens']),
    inputModalities: kind === 'transcription' ? ['audio'] : ['text', ...held(INPUT_MODALITIES)],
    outputModalities: outputOf(kind),
    capabilities: held(CAPABILITIES),
    regions: textsOf(fields['supported_regions']),
    endOfLife: typeof end === 'string' ? end : null,
    rates: ratesOf(kind, fields),
  };
}

function outputOf(kind: ModelKind): string[] {
  if (kind === 'embedding') return ['embedding'];
  if (kind === 'rerank' || kind === 'moderation') return ['score'];
  if (kind === 'speech') return ['audio'];
  return kind === 'image' ? ['image'] : ['text'];
}

function ratesOf(kind: ModelKind, fields: Fields): PriceRates {
  const base: Partial<Record<RateName, bigint>> = {};
  const tiers = new Map<number, Partial<Record<RateName, bigint>>>();
  let stated = false;
  for (const [key, value] of Object.entries(fields)) {
    const text = decimalText(value);
    const tier = tierOf(key);
    const name = tier?.name ?? TOKEN_PRICES[key];
    if (name === undefined || text === undefined) continue;
    stated = true;
    if (tier === undefined) base[name] = parseUsdPerToken(text);
    else tiers.set(tier.above, { ...tiers.get(tier.above), [name]: parseUsdPerToken(text) });
  }
  const second = decimalText(fields[SECOND_PRICE]);
  const call = CALL_PRICES.map((key) => decimalText(fields[key])).find((text) => text !== undefined);
  if (!stated && second === undefined && call === undefined)
    throw new RangeError('it has no price of a kind that is charged here');
  assertPriced(kind, base);
  return priceRates({
    ...base,
    perMinuteNano: second === undefined ? 0n : parseUsd(second) * 60n,
    perCallNano: call === undefined ? 0n : parseUsd(call),
    tiers: [...tiers]
      .sort(([left], [right]) => left - right)
      .map(([aboveInputTokens, rates]) => ({ ...rates, aboveInputTokens })),
  });
}

function tierOf(key: string): { readonly name: RateName; readonly above: number } | undefined {
  const [, base = '', thousands] = TIERED.exec(key) ?? [];
  const name = TOKEN_PRICES[base];
  return name === undefined ? undefined : { name, above: Number(thousands) * 1_000 };
}
