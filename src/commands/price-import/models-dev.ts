import type { ModelKind } from '../../catalogue';
import { Fault, parseUsdPerMillion, priceRates, type PriceRates, type RATE_NAMES } from '../../kernel';
import { countOf, decimalText, type Fields, fieldsOf, textsOf } from './exact-json';
import { assertPriced, type Offer, type PriceFormat, type PriceList, type Refused } from './offer';

type RateName = (typeof RATE_NAMES)[number];

/** Dollars for a million tokens. */
const COSTS: Readonly<Record<string, RateName>> = {
  input: 'input',
  output: 'output',
  cache_read: 'cacheRead',
  cache_write: 'cacheWrite',
  reasoning: 'reasoning',
  input_audio: 'audioInput',
  output_audio: 'audioOutput',
};
const TIERED = /^context_over_(\d{1,5})k$/;

const READ = new Set([
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
]);

export const modelsDevPrices: PriceFormat = {
  name: 'models-dev',
  read(content): PriceList {
    const offers: Offer[] = [];
    const refused: Refused[] = [];
    const unknownKeys: { provider: string; key: string }[] = [];
    const root = fieldsOf(content);
    const providers = 'providers' in root ? fieldsOf(root['providers']) : root;
    for (const [provider, value] of Object.entries(providers)) {
      for (const [name, model] of Object.entries(fieldsOf(fieldsOf(value)['models']))) {
        const fields = fieldsOf(model);
        const id = typeof fields['id'] === 'string' ? fields['id'] : name;
        unknownKeys.push(...strangeKeys(fields).map((key) => ({ provider, key })));
        try {
          offers.push(offerOf(id, provider, fields));
        } catch (error) {
          if (!(error instanceof Fault || error instanceof RangeError)) throw error;
          const reason = error instanceof Fault ? error.humanMessage : error.message;
          refused.push({ id, provider, reason });
        }
      }
    }
    return { offers, refused, unknownKeys };
  },
};

function strangeKeys(fields: Fields): string[] {
  const costs = Object.keys(fieldsOf(fields['cost']));
  return [
    ...Object.keys(fields).filter((key) => !READ.has(key)),
    ...costs.filter((key) => !Object.hasOwn(COSTS, key) && !TIERED.test(key)).map((key) => `cost.${key}`),
  ];
}

function offerOf(id: string, provider: string, fields: Fields): Offer {
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
      ...(isThere(fields['tool_call']) ? ['tools'] : []),
      ...(isThere(fields['structured_output']) ? ['json_schema'] : []),
      ...(isThere(fields['reasoning']) ? ['reasoning'] : []),
      ...('cache_read' in fieldsOf(fields['cost']) ? ['prompt_caching'] : []),
    ],
    regions: [],
    endOfLife: fields['status'] === 'deprecated' ? 'deprecated' : null,
    rates: ratesOf(kind, fieldsOf(fields['cost'])),
  };
}

/** Said by `true`, or by an object that tells more. */
const isThere = (value: unknown): boolean => value === true || (typeof value === 'object' && value !== null);

const modalityOf = (word: string): string => (word === 'pdf' ? 'document' : word);

function kindOf(input: readonly string[], output: readonly string[]): ModelKind {
  if (output.length === 0 || output.includes('text'))
    return input.length === 1 && input[0] === 'audio' ? 'transcription' : 'chat';
  if (output.includes('audio')) return 'speech';
  return output.includes('image') ? 'image' : 'chat';
}

function ratesOf(kind: ModelKind, cost: Fields): PriceRates {
  const base = bucketsOf(cost);
  if (Object.keys(base).length === 0) throw new RangeError('it has no price of a kind that is charged here');
  assertPriced(kind, base);
  const tiers = Object.entries(cost).flatMap(([key, value]) => {
    const [, thousands] = TIERED.exec(key) ?? [];
    return thousands === undefined
      ? []
      : [{ ...bucketsOf(fieldsOf(value)), aboveInputTokens: Number(thousands) * 1_000 }];
  });
  return priceRates({ ...base, tiers: tiers.sort((a, b) => a.aboveInputTokens - b.aboveInputTokens) });
}

function bucketsOf(cost: Fields): Partial<Record<RateName, bigint>> {
  return Object.fromEntries(
    Object.entries(COSTS).flatMap(([key, name]) => {
      const text = decimalText(cost[key]);
      return text === undefined ? [] : [[name, parseUsdPerMillion(text)]];
    }),
  );
}
