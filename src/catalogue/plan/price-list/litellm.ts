import type { ModelKind } from '../../entities';
import { Fault } from '../../../kernel';
import { countOf, type ExactFields, fieldsOf, textsOf } from './exact-json';
import { LitellmEntry } from './litellm-entry';
import { pictureRate, sizedPicture } from './litellm-pictures';
import { isTokenPriced, ratesIn } from './litellm-rates';
import type { Offer, PriceFormat, PriceList, RefusedOffer, UnknownKey } from './offer';

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
const NON_PRICE_KEYS = new Set([
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
  'web_search_billing_unit',
]);
const SKIPPED = new Set(['sample_spec', 'fallback_generalizations']);

export const litellmPrices: PriceFormat = {
  name: 'litellm-prices',
  read: (content) => new LitellmReader().read(fieldsOf(content)),
};

interface LitellmListEntry {
  readonly id: string;
  readonly provider: string;
  readonly fields: ExactFields;
  readonly prices: LitellmEntry;
}

interface PictureSizes {
  readonly provider: string;
  readonly images: Record<string, bigint>;
  readonly ids: string[];
}

class LitellmReader {
  private readonly offers: Offer[] = [];
  private readonly refused: RefusedOffer[] = [];
  private readonly unknownKeys: UnknownKey[] = [];
  private readonly sizes = new Map<string, PictureSizes>();

  read(content: ExactFields): PriceList {
    const entries = Object.entries(content)
      .filter(([id]) => !SKIPPED.has(id))
      .map(([id, value]) => entryOf(id, fieldsOf(value)));
    for (const entry of entries.filter((one) => !this.collectSize(one))) this.addModel(entry);
    // Remaining sizes belong to models without an entry of their own.
    for (const [name, { provider }] of [...this.sizes]) {
      this.addModel(entryOf(name, { litellm_provider: provider, mode: 'image_generation' }));
    }
    return { offers: this.offers, refused: this.refused, unknownKeys: this.unknownKeys };
  }

  /** Collects an entry that is a size of pictures; returns false for a model. */
  private collectSize(entry: LitellmListEntry): boolean {
    const { id, provider, fields, prices } = entry;
    if (fields['mode'] !== 'image_generation') return false;
    return this.tryEntry(entry, () => {
      const picture = sizedPicture(id, provider);
      if (picture === null) return false;
      const name = `${provider}/${picture.model}`;
      const sizes = this.sizes.get(name) ?? { provider, images: {}, ids: [] };
      sizes.images[picture.key] = pictureRate(prices, picture.pixels);
      sizes.ids.push(id);
      this.sizes.set(name, sizes);
      this.reportUnknownKeys(entry);
      return true;
    });
  }

  private addModel(entry: LitellmListEntry): void {
    const { id, provider } = entry;
    const name = id.startsWith(`${provider}/`) ? id : `${provider}/${id}`;
    const sizes = this.sizes.get(name);
    this.sizes.delete(name);
    this.tryEntry(entry, () => {
      const offer = offerOf(entry, sizes?.images);
      this.offers.push(offer);
      this.reportUnknownKeys(entry);
      const reason = `${entry.id} is priced by tokens`;
      if (isTokenPriced(offer.rates))
        this.refused.push(...(sizes?.ids ?? []).map((size) => ({ id: size, provider, reason })));
      return true;
    });
  }

  private reportUnknownKeys({ id, provider, prices }: LitellmListEntry): void {
    this.unknownKeys.push(...prices.unreadKeys(NON_PRICE_KEYS).map((key) => ({ id, provider, key })));
  }

  private tryEntry({ id, provider }: LitellmListEntry, action: () => boolean): boolean {
    try {
      return action();
    } catch (error) {
      if (!(error instanceof Fault || error instanceof RangeError)) throw error;
      const reason = error instanceof Fault ? error.humanMessage : error.message;
      this.refused.push({ id, provider, reason });
      return true;
    }
  }
}

function entryOf(id: string, fields: ExactFields): LitellmListEntry {
  const provider = typeof fields['litellm_provider'] === 'string' ? fields['litellm_provider'] : '';
  return { id, provider, fields, prices: new LitellmEntry(fields) };
}

function offerOf({ id, provider, fields, prices }: LitellmListEntry, images?: PictureSizes['images']): Offer {
  const mode = typeof fields['mode'] === 'string' ? fields['mode'] : 'chat';
  const kind = KINDS[mode];
  if (kind === undefined) throw new RangeError(`models of the kind "${mode}" are not served here`);
  const supportedNames = (names: Readonly<Record<string, string>>): string[] =>
    Object.entries(names).flatMap(([key, word]) => (fields[key] === true ? [word] : []));
  const end = fields['deprecation_date'];
  return {
    id,
    provider,
    displayName: id,
    kind,
    contextTokens: countOf(fields['max_input_tokens']) ?? countOf(fields['max_tokens']),
    maxOutputTokens: countOf(fields['max_output_tokens']),
    inputModalities: kind === 'transcription' ? ['audio'] : ['text', ...supportedNames(INPUT_MODALITIES)],
    outputModalities: outputOf(kind),
    capabilities: supportedNames(CAPABILITIES),
    regions: textsOf(fields['supported_regions']),
    endOfLife: typeof end === 'string' ? end : null,
    rates: ratesIn(prices, kind, provider, images),
  };
}

function outputOf(kind: ModelKind): string[] {
  if (kind === 'embedding') return ['embedding'];
  if (kind === 'rerank' || kind === 'moderation') return ['score'];
  if (kind === 'speech') return ['audio'];
  return kind === 'image' ? ['image'] : ['text'];
}
