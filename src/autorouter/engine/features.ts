import { topicOf, topics } from './lexicon';
import { fnv, fold, HASH_COUNT, MAX_TERMS, type WordSalt } from './words';

/** Measurements of a request that do not depend on its text. */
export interface RequestCounters {
  readonly tokens: number;
  readonly turns: number;
  readonly tools: number;
  readonly hasToolResult: boolean;
  readonly hasImage: boolean;
  readonly hasDocument: boolean;
  readonly jsonMode: boolean;
  readonly systemLength: number;
  readonly stream: boolean;
  readonly maxTokens?: number;
}

export interface RequestView extends RequestCounters {
  readonly text: string;
}

/** Everything that remains of a request after extraction. No word of it can be recovered. */
export interface Features {
  readonly counters: RequestCounters;
  /** `topic/length`, followed by `/tools` or `/image`; `bucketLabel` is the readable form. */
  readonly bucket: string;
  readonly structure: Float32Array;
  /** Salted hashes of words and word pairs, each at most once, with occurrences in `counts`. */
  readonly hashes: Uint16Array;
  readonly counts: Uint8Array;
}

const SCALAR_COUNT = 10;
/** Length of the structural vector. Stored examples and coefficients depend on it. */
export const STRUCTURE_LENGTH = SCALAR_COUNT + 2 * topics.length;

const MAX_CHARACTERS = 4_000;
const HEAD_CHARACTERS = MAX_CHARACTERS * 0.6;
const MAX_WORDS = 1_200;

export function extractFeatures({ text, ...counters }: RequestView, salt: WordSalt): Features {
  const sample = excerpt(text);
  const words = wordsOf(sample);
  const perTopic = topicCounts(words);
  return {
    counters,
    bucket: bucketOf(text.length, perTopic, counters),
    structure: structureOf(text.length, sample, words, perTopic),
    ...hashWords(words, salt),
  };
}

/** The start and end of a long text: the task can be in either. */
const excerpt = (text: string): string =>
  text.length <= MAX_CHARACTERS
    ? text
    : `${text.slice(0, HEAD_CHARACTERS)} ${text.slice(HEAD_CHARACTERS - MAX_CHARACTERS)}`;

const wordsOf = (text: string): string[] =>
  (text.toLowerCase().match(/[\p{L}\p{M}_]+|\p{N}+/gu) ?? [])
    .slice(0, MAX_WORDS)
    .map((word) => (/^\p{N}/u.test(word) ? `#${word.length}` : word));

function topicCounts(words: readonly string[]): Float32Array {
  const counts = new Float32Array(topics.length);
  for (const word of words) {
    const topic = topicOf(word);
    if (topic !== undefined) counts[topic] = (counts[topic] ?? 0) + 1;
  }
  return counts;
}

export const lengthBand = (characters: number): 'short' | 'medium' | 'long' =>
  characters < 200 ? 'short' : characters < 1_000 ? 'medium' : 'long';

function bucketOf(
  characters: number,
  perTopic: Float32Array,
  counters: Pick<RequestCounters, 'tools' | 'hasImage' | 'hasToolResult'>,
): string {
  const suffix = counters.hasImage ? '/image' : counters.tools > 0 || counters.hasToolResult ? '/tools' : '';
  return `${strongestTopic(perTopic)}/${lengthBand(characters)}${suffix}`;
}

function strongestTopic(perTopic: Float32Array): string {
  let best = -1;
  perTopic.forEach((count, topic) => {
    if (count > (best < 0 ? 0 : (perTopic[best] ?? 0))) best = topic;
  });
  return topics[best] ?? 'general';
}

function structureOf(
  characters: number,
  sample: string,
  words: readonly string[],
  perTopic: Float32Array,
): Float32Array {
  const counts = characterKinds(sample);
  const share = (count: number): number => count / Math.max(1, sample.length);
  const lines = sample.split('\n');
  const listLines = lines.filter((text) => listLine.test(text)).length;
  const letters = words.reduce((sum, word) => sum + word.length, 0);
  const structure = new Float32Array(STRUCTURE_LENGTH);
  structure.set([
    Math.log1p(characters) / 8,
    Math.log1p(lines.length) / 4,
    Math.min(2, listLines / 10),
    5 * share(counts.digits),
    2 * share(counts.foreign),
    5 * share(counts.capitals),
    Math.min(2, counts.questions / 3),
    letters / Math.max(1, words.length) / 8,
    5 * share(counts.brackets),
    5 * share(counts.operators),
  ]);
  perTopic.forEach((count, topic) => {
    structure[SCALAR_COUNT + 2 * topic] = count > 0 ? 1 : 0;
    structure[SCALAR_COUNT + 2 * topic + 1] = Math.log1p(count);
  });
  return structure;
}

const listLine = /^\s*(?:[-*•]|\(?[A-Za-z0-9]{1,2}[.):])\s/;

type CharacterKind = 'digits' | 'foreign' | 'capitals' | 'questions' | 'brackets' | 'operators';

/** Character kinds by ASCII code; characters beyond ASCII are foreign. */
const kindOfCode: readonly (CharacterKind | undefined)[] = Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code);
  if (/\d/.test(character)) return 'digits';
  if (/[A-Z]/.test(character)) return 'capitals';
  if (character === '?') return 'questions';
  if (/[{}()[\];=<>]/.test(character)) return 'brackets';
  return /[\\^$+*/%]/.test(character) ? 'operators' : undefined;
});

function characterKinds(text: string): Record<CharacterKind, number> {
  const kinds = { digits: 0, foreign: 0, capitals: 0, questions: 0, brackets: 0, operators: 0 };
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    const kind = code < 128 ? kindOfCode[code] : 'foreign';
    if (kind !== undefined) kinds[kind] += 1;
  }
  return kinds;
}

function hashWords(words: readonly string[], { order }: WordSalt): Pick<Features, 'hashes' | 'counts'> {
  const counts = new Map<number, number>();
  const add = (hash: number): void => {
    const salted = order[fold(hash)] ?? hash % HASH_COUNT;
    const count = counts.get(salted) ?? 0;
    if (count > 0 || counts.size < MAX_TERMS) counts.set(salted, Math.min(255, count + 1));
  };
  let previous: number | undefined;
  for (const word of words) {
    if (previous !== undefined) add(fnv(word, fnv(' ', previous)));
    previous = fnv(word);
    add(previous);
  }
  return { hashes: Uint16Array.from(counts.keys()), counts: Uint8Array.from(counts.values()) };
}
