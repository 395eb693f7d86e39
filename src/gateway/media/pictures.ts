import {
  type RequestedFees,
  entryOf,
  isSoldByTokens,
  type JsonFields,
  type PriceRates,
  readModes,
  totalTokens,
  type UsageReading,
} from '../../kernel';

const PICTURE_TERM = /^[a-z0-9][a-z0-9_.-]{0,39}$/;
const normaliseTerm = (value: unknown, defaultTerm: string): string => {
  const text = typeof value === 'string' ? value.toLowerCase() : defaultTerm;
  return PICTURE_TERM.test(text) ? text : defaultTerm;
};

const DEFAULT_QUALITY = 'standard';
const DEFAULT_SIZE = '1024x1024';

export function pictureKey(answer: JsonFields | null, { quality, size }: JsonFields): string {
  const requested = {
    quality: normaliseTerm(quality, DEFAULT_QUALITY),
    size: normaliseTerm(size, DEFAULT_SIZE),
  };
  return `${normaliseTerm(answer?.quality, requested.quality)}/${normaliseTerm(answer?.size, requested.size)}`;
}

export const pictureFees = (body: JsonFields): RequestedFees => ({
  uses: {},
  modes: readModes(body) ?? {},
  image: pictureKey(null, body),
});

/** Tokens of the largest picture per quality, by the vendor's table. Unknown quality counts as the highest. */
const TOKENS_PER_QUALITY: Readonly<Record<string, number>> = { low: 408, medium: 1_584, high: 6_240 };

/** Estimates picture tokens if the price is per token and the supplier reported none, so that no picture is free. */
export function chargedPictures(reading: UsageReading, price: PriceRates): UsageReading {
  if (reading.kind !== 'ok' || !isSoldByTokens(price)) return reading;
  const { usage } = reading;
  const isOutputMissing = usage.missing === 'output' || usage.missing === 'both';
  if (usage.images === null || (totalTokens(usage) > 0 && !isOutputMissing)) return reading;
  const tokens = Object.entries(usage.images).reduce((sum, [key, count]) => {
    const [quality = ''] = key.split('/');
    return sum + (entryOf(TOKENS_PER_QUALITY, quality) ?? TOKENS_PER_QUALITY['high']!) * (count ?? 0);
  }, 0);
  const { missing, ...counts } = usage;
  const estimated = { ...counts, imageOutputTokens: tokens, source: 'estimated' as const };
  return { kind: 'ok', usage: missing === 'both' ? { ...estimated, missing: 'input' } : estimated };
}
