import {
  type AskedFees,
  entryOf,
  isSoldByTokens,
  type JsonFields,
  type PriceRates,
  readModes,
  totalTokens,
  type UsageReading,
} from '../../kernel';

const PICTURE_WORD = /^[a-z0-9][a-z0-9_.-]{0,39}$/;
const word = (value: unknown, usual: string): string => {
  const text = typeof value === 'string' ? value.toLowerCase() : usual;
  return PICTURE_WORD.test(text) ? text : usual;
};

/** Suppliers take these where a caller leaves quality and size to them. */
const USUAL_QUALITY = 'standard';
const USUAL_SIZE = '1024x1024';

/** Quality and size of the pictures: as the answer tells them, else as they were asked for. */
export function pictureKey(answer: JsonFields | null, { quality, size }: JsonFields): string {
  const asked = { quality: word(quality, USUAL_QUALITY), size: word(size, USUAL_SIZE) };
  return `${word(answer?.quality, asked.quality)}/${word(answer?.size, asked.size)}`;
}

export const pictureFees = (body: JsonFields): AskedFees => ({
  uses: {},
  modes: readModes(body) ?? {},
  image: pictureKey(null, body),
});

/** The largest picture takes these tokens at each quality, by the vendor's table; an untold quality is the highest. */
const TOKENS_OF_QUALITY: Readonly<Record<string, number>> = { low: 408, medium: 1_584, high: 6_240 };

/** A model that sells pictures by their tokens, and whose supplier reported none, is charged by estimate, never free. */
export function soldPictures(reading: UsageReading, price: PriceRates): UsageReading {
  if (reading.kind !== 'ok' || !isSoldByTokens(price)) return reading;
  const { usage } = reading;
  const isUnread = usage.missing === 'output' || usage.missing === 'both';
  if (usage.images === null || (totalTokens(usage) > 0 && !isUnread)) return reading;
  const tokens = Object.entries(usage.images).reduce((sum, [key, count]) => {
    const [quality = ''] = key.split('/');
    return sum + (entryOf(TOKENS_OF_QUALITY, quality) ?? TOKENS_OF_QUALITY['high']!) * (count ?? 0);
  }, 0);
  const { missing, ...counts } = usage;
  const estimated = { ...counts, imageOutputTokens: tokens, source: 'estimated' as const };
  return { kind: 'ok', usage: missing === 'both' ? { ...estimated, missing: 'input' } : estimated };
}
