import type { ModelKind } from '../../entities';
import {
  Fault,
  MODE_FIELDS,
  parseUsdPerMillion,
  priceRates,
  type PriceRates,
  type TokenRateName,
} from '../../../kernel';
import { countOf, decimalText, type ExactFields, fieldsOf, textsOf } from './exact-json';
import {
  assertPriced,
  type Offer,
  type PriceFormat,
  type PriceList,
  type RefusedOffer,
  type UnknownKey,
} from './offer';
import { type OfferedRates, TieredRates } from './tiered-rates';

/** Prices in USD per 1M tokens. */
const COSTS: Readonly<Record<string, TokenRateName>> = {
  input: 'input',
  output: 'output',
  cache_read: 'cacheRead',
  cache_write: 'cacheWrite',
  reasoning: 'reasoning',
  input_audio: 'audioInput',
  output_audio: 'audioOutput',
};
const TIERED = /^context_over_(\d{1,5})k$/;

const KNOWN_FIELDS = new Set([
  'id',
  'name',
  'cost',
  'limit',
  'modalities',
  'tool_call',
  'reasoning',
  'structured_output',
  'attachment',
  'temperature',
  'status',
  'release_date',
  'last_updated',
  'experimental',
]);

export const modelsDevPrices: PriceFormat = {
  name: 'models-dev',
  read(content): PriceList {
    const offers: Offer[] = [];
    const refused: RefusedOffer[] = [];
    const unknownKeys: UnknownKey[] = [];
    const root = fieldsOf(content);
    const providers = 'providers' in root ? fieldsOf(root['providers']) : root;
    for (const [provider, value] of Object.entries(providers)) {
      for (const [name, model] of Object.entries(fieldsOf(fieldsOf(value)['models']))) {
        const fields = fieldsOf(model);
        const id = typeof fields['id'] === 'string' ? fields['id'] : name;
        const unread = unknownFieldNames(fields);
        try {
          offers.push(offerOf(id, provider, fields, unread));
        } catch (error) {
          if (!(error instanceof Fault || error instanceof RangeError)) throw error;
          const reason = error instanceof Fault ? error.humanMessage : error.message;
          refused.push({ id, provider, reason });
        }
        unknownKeys.push(...unread.map((key) => ({ id, provider, key })));
      }
    }
    return { offers, refused, unknownKeys };
  },
};

function unknownFieldNames(fields: ExactFields): string[] {
  const costs = Object.keys(fieldsOf(fields['cost']));
  return [
    ...Object.keys(fields).filter((key) => !KNOWN_FIELDS.has(key)),
    ...costs
      .filter((key) => !Object.hasOwn(COSTS, key) && key !== 'tiers' && !TIERED.test(key))
      .map((key) => `cost.${key}`),
  ];
}

function offerOf(id: string, provider: string, fields: ExactFields, unread: string[]): Offer {
  const modalities = fieldsOf(fields['modalities']);
  const input = textsOf(modalities['input']).map(modalityOf);
  const output = textsOf(modalities['output']).map(modalityOf);
  const limit = fieldsOf(fields['limit']);
  const kind = kindOf(input, output);
  return {
    id,
    provider,
    displayName: typeof fields['name'] === 'string' ? fields['name'] : id,
    kind,
    contextTokens: countOf(limit['context']),
    maxOutputTokens: countOf(limit['output']),
    inputModalities: input.length === 0 ? ['text'] : input,
    outputModalities: output.length === 0 ? ['text'] : output,
    capabilities: [
      ...(isSupported(fields['tool_call']) ? ['tools'] : []),
      ...(isSupported(fields['structured_output']) ? ['json_schema'] : []),
      ...(isSupported(fields['reasoning']) ? ['reasoning'] : []),
      ...('cache_read' in fieldsOf(fields['cost']) ? ['prompt_caching'] : []),
    ],
    regions: [],
    endOfLife: fields['status'] === 'deprecated' ? 'deprecated' : null,
    rates: ratesOf(kind, fields, unread),
  };
}

const isSupported = (value: unknown): boolean =>
  value === true || (typeof value === 'object' && value !== null);

const modalityOf = (modality: string): string => (modality === 'pdf' ? 'document' : modality);

function kindOf(input: readonly string[], output: readonly string[]): ModelKind {
  if (output.length === 0 || output.includes('text'))
    return input.length === 1 && input[0] === 'audio' ? 'transcription' : 'chat';
  if (output.includes('audio')) return 'speech';
  return output.includes('image') ? 'image' : 'chat';
}

/** Unsupported fields are appended to `unread`. */
function ratesOf(kind: ModelKind, fields: ExactFields, unread: string[]): PriceRates {
  const defaultRates = tieredRatesOf(fieldsOf(fields['cost']), unread);
  if (Object.keys(defaultRates.base).length === 0)
    throw new RangeError('it has no price of a kind that is charged here');
  assertPriced(kind, defaultRates.base);
  return priceRates({
    ...defaultRates.given(),
    modes: modesOf(fieldsOf(fields['experimental']), defaultRates, unread),
  });
}

/** `context_over_200k` repeats one of the tiers for readers without support for tiers, at any threshold. */
function tieredRatesOf(cost: ExactFields, unread: string[]): TieredRates {
  const rates = new TieredRates();
  Object.assign(rates.base, bucketsOf(cost));
  if (Array.isArray(cost['tiers'])) {
    for (const tier of cost['tiers'].map(fieldsOf)) {
      const { type, size } = fieldsOf(tier['tier']);
      const threshold = countOf(size);
      if ((type === undefined || type === 'context') && threshold !== null)
        Object.assign(rates.at(threshold), bucketsOf(tier));
      else unread.push(`cost.tiers (${typeof type === 'string' ? type : 'without a size'})`);
    }
    return rates;
  }
  for (const [key, value] of Object.entries(cost)) {
    const [, thousands] = TIERED.exec(key) ?? [];
    if (thousands !== undefined)
      Object.assign(rates.at(Number(thousands) * 1_000), bucketsOf(fieldsOf(value)));
  }
  return rates;
}

/** A mode is identified by a field of the request, which changes the price of its tokens. */
function modesOf(
  experimental: ExactFields,
  defaultRates: TieredRates,
  unread: string[],
): Record<string, { rates: ReturnType<TieredRates['given']> }> {
  const modes: Record<string, { rates: ReturnType<TieredRates['given']> }> = {};
  for (const key of Object.keys(experimental)) if (key !== 'modes') unread.push(`experimental.${key}`);
  for (const [name, value] of Object.entries(fieldsOf(experimental['modes']))) {
    const mode = fieldsOf(value);
    const requestFields = Object.entries(fieldsOf(fieldsOf(mode['provider'])['body']));
    const [field, fieldValue] = requestFields.length === 1 ? requestFields[0]! : [];
    const isKnown = MODE_FIELDS.some((one) => one === field) && typeof fieldValue === 'string';
    if (isKnown && mode['cost'] !== undefined) {
      const modeRates = tieredRatesOf(fieldsOf(mode['cost']), unread);
      modes[`${field}=${fieldValue}`] = { rates: modeRates.completedFrom(defaultRates).given() };
    } else unread.push(`experimental.modes.${name}`);
  }
  return modes;
}

function bucketsOf(cost: ExactFields): OfferedRates {
  return Object.fromEntries(
    Object.entries(COSTS).flatMap(([key, name]) => {
      const text = decimalText(cost[key]);
      return text === undefined ? [] : [[name, parseUsdPerMillion(text)]];
    }),
  );
}
