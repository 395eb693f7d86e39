import { hashName, randomFrom } from './hash';

/**
 * Made-up skill of the simulated models per kind of task, from 0 to 1, so that a router has something to learn. All
 * models answer other texts equally well.
 */
const kinds = [
  {
    signs: /\b(?:python|typescript|javascript|function|compile|stack trace|bug|sql|regex|unit test)\b/i,
    skills: { small: 0.45, large: 0.9, reason: 0.85, '8k': 0.3 },
  },
  {
    signs: /\b(?:solve|equation|integral|derivative|prove|probability|theorem)\b/i,
    skills: { small: 0.35, large: 0.6, reason: 0.95, '8k': 0.25 },
  },
  {
    signs: /\b(?:translate|summari[sz]e|summary|rewrite|e-?mail|letter|headline)\b/i,
    skills: { small: 0.85, large: 0.9, reason: 0.8, '8k': 0.75 },
  },
] as const;

/** Replaces a word that the model got wrong; as long as every other word. */
export const WRONG = 'err';

/** Returns the words of an answer with the mistakes that a model of this name makes. */
export function withMistakes(words: string[], question: string, model: string): string[] {
  const kind = kinds.find(({ signs }) => signs.test(question));
  const name = Object.keys(kinds[0].skills).find((part) => model.endsWith(part));
  if (kind === undefined || name === undefined) return words;
  const skill = kind.skills[name as keyof typeof kind.skills];
  const random = randomFrom(Number.parseInt(hashName(question, model).slice(0, 8), 16));
  return words.map((word) => (random() < skill ? word : word.replace(/\w+/, WRONG)));
}
