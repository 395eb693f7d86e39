/** Words that occur in almost every text of the language. */
const frequentWords = {
  en: ['the', 'and', 'is', 'of', 'to', 'what', 'how', 'with', 'this', 'you'],
  de: ['der', 'die', 'und', 'ist', 'das', 'ein', 'nicht', 'wie', 'mit', 'ich'],
  fr: ['le', 'la', 'et', 'est', 'les', 'une', 'des', 'que', 'pour', 'dans'],
  it: ['il', 'che', 'di', 'per', 'una', 'sono', 'non', 'come', 'della', 'è'],
  es: ['el', 'que', 'de', 'los', 'una', 'por', 'con', 'para', 'cómo', 'es'],
} as const;

const MAX_SAMPLE_LENGTH = 2_000;

/** Guesses the language from a text's most common words, for grouping only; `other` if none match. */
export function languageOf(text: string): string {
  const words = new Map<string, number>();
  for (const word of text
    .slice(0, MAX_SAMPLE_LENGTH)
    .toLowerCase()
    .match(/\p{L}+/gu) ?? [])
    words.set(word, (words.get(word) ?? 0) + 1);
  let best = { language: 'other', count: 0 };
  for (const [language, languageWords] of Object.entries(frequentWords)) {
    const count = languageWords.reduce((sum, word) => sum + (words.get(word) ?? 0), 0);
    if (count > best.count) best = { language, count };
  }
  return best.language;
}
