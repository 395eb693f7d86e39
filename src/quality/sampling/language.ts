/** Hardly any text of the language goes without these words. */
const frequentWords = {
  en: ['the', 'and', 'is', 'of', 'to', 'what', 'how', 'with', 'this', 'you'],
  de: ['der', 'die', 'und', 'ist', 'das', 'ein', 'nicht', 'wie', 'mit', 'ich'],
  fr: ['le', 'la', 'et', 'est', 'les', 'une', 'des', 'que', 'pour', 'dans'],
  it: ['il', 'che', 'di', 'per', 'una', 'sono', 'non', 'come', 'della', 'è'],
  es: ['el', 'que', 'de', 'los', 'una', 'por', 'con', 'para', 'cómo', 'es'],
} as const;

const SAMPLE = 2_000;

/** A guess for sorting, from a text's commonest words; `other` where nothing tells. */
export function languageOf(text: string): string {
  const words = new Map<string, number>();
  for (const word of text
    .slice(0, SAMPLE)
    .toLowerCase()
    .match(/\p{L}+/gu) ?? [])
    words.set(word, (words.get(word) ?? 0) + 1);
  let best = { language: 'other', count: 0 };
  for (const [language, telling] of Object.entries(frequentWords)) {
    const count = telling.reduce((sum, word) => sum + (words.get(word) ?? 0), 0);
    if (count > best.count) best = { language, count };
  }
  return best.language;
}
