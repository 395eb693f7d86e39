import type { ModelKind } from '../../entities';
import { Fault } from '../../../kernel';
import { countOf, type Fields, fieldsOf, textsOf } from './exact-json';
import { LitellmEntry } from './litellm-entry';
import { pictureRate, sizedPicture } from './litellm-pictures';
import { isTokenPriced, ratesIn } from './litellm-rates';
import type { Offer, PriceFormat, PriceList, Refused, UnknownKey } from './offer';

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
/** Facts that are no price, and are taken over or say nothing that is needed here. */
const FACTS = new Set([
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
/** These entries among the models explain the format. */
const SKIPPED = new Set(['sample_spec', 'fallback_generalizations']);

export const litellmPrices: PriceFormat = {
  name: 'litellm-prices',
  read: (content) => new Reading().of(fieldsOf(content)),
};

interface Entry {
  readonly id: string;
  readonly provider: string;
  readonly fields: Fields;
  readonly prices: LitellmEntry;
}

/** The list holds pictures of one model as an entry for every quality and size. */
interface Sizes {
  readonly provider: string;
  readonly images: Record<string, bigint>;
  readonly ids: string[];
}

class Reading {
  private readonly offers: Offer[] = [];
  private readonly refused: Refused[] = [];
  private readonly unknownKeys: UnknownKey[] = [];
  private readonly sizes = new Map<string, Sizes>();

  of(content: Fields): PriceList {
    const entries = Object.entries(content)
      .filter(([id]) => !SKIPPED.has(id))
      .map(([id, value]) => entryOf(id, fieldsOf(value)));
    for (const entry of entries.filter((one) => !this.isSize(one))) this.model(entry);
    // The rest belongs to models that have no entry of their own.
    for (const [name, { provider }] of [...this.sizes]) {
      this.model(entryOf(name, { litellm_provider: provider, mode: 'image_generation' }));
    }
    return { offers: this.offers, refused: this.refused, unknownKeys: this.unknownKeys };
  }

  /** Such an entry is a size of pictures and no model. */
  private isSize(entry: Entry): boolean {
    const { id, provider, fields, prices } = entry;
    if (fields['mode'] !== 'image_generation') return false;
    return this.attempt(entry, () => {
      const sized = sizedPicture(id, provider);
      if (sized === null) return false;
      const name = `${provider}/${sized.model}`;
      const sizes = this.sizes.get(name) ?? { provider, images: {}, ids: [] };
      sizes.images[sized.key] = pictureRate(prices, sized.pixels);
      sizes.ids.push(id);
      this.sizes.set(name, sizes);
      this.report(entry);
      return true;
    });
  }

  private model(entry: Entry): void {
    const { id, provider } = entry;
    const name = id.startsWith(`${provider}/`) ? id : `${provider}/${id}`;
    const sizes = this.sizes.get(name);
    this.sizes.delete(name);
    this.attempt(entry, () => {
      const offer = offerOf(entry, sizes?.images);
      this.offers.push(offer);
      this.report(entry);
      const reason = `${entry.id} is priced by tokens`;
      if (isTokenPriced(offer.rates))
        this.refused.push(...(sizes?.ids ?? []).map((size) => ({ id: size, provider, reason })));
      return true;
    });
  }

  private report({ id, provider, prices }: Entry): void {
    this.unknownKeys.push(...prices.left(FACTS).map((key) => ({ id, provider, key })));
  }

  /** An entry that says something impossible is refused by its name. */
  private attempt({ id, provider }: Entry, take: () => boolean): boolean {
    try {
      return take();
    } catch (error) {
      if (!(error instanceof Fault || error instanceof RangeError)) throw error;
      const reason = error instanceof Fault ? error.humanMessage : error.message;
      this.refused.push({ id, provider, reason });
      return true;
    }
  }
}

function entryOf(id: string, fields: Fields): Entry {
  const provider = typeof fields['litellm_provider'] === 'string' ? fields['litellm_provider'] : '';
  return { id, provider, fields, prices: new LitellmEntry(fields) };
}

function offerOf({ id, provider, fields, prices }: Entry, images?: Sizes['images']): Offer {
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
    rates: ratesIn(prices, kind, provider, images),
  };
}

function outputOf(kind: ModelKind): string[] {
  if (kind === 'embedding') return ['embedding'];
  if (kind === 'rerank' || kind === 'moderation') return ['score'];
  if (kind === 'speech') return ['audio'];
  return kind === 'image' ? ['image'] : ['text'];
}
