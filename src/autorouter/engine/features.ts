import { topicOf, topics } from './lexicon';
import { fnv, fold, HASHES, MOST_TERMS, type WordSalt } from './words';

/** A request is counted in these ways without being read. */
export interface RequestCounters {
  /** They are estimated for the whole request. */
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

/** The router sees the counters of a request and the text of the user's last message. */
export interface RequestView extends RequestCounters {
  readonly text: string;
}

/** Only these features are left of a request once it was looked at. No word of it can be read back. */
export interface Features {
  readonly counters: RequestCounters;
  /** `topic/length`, and `/tools` or `/image` behind it; `bucketLabel` is for people. */
  readonly bucket: string;
  /** They are the STRUCTURE signals. */
  readonly structure: Float32Array;
  /** They are salted hashes of words and pairs of words; each stands here at most once, with `counts` beside it. */
  readonly hashes: Uint16Array;
  readonly counts: Uint8Array;
}

const SCALARS = 10;
/** The length of the structural vector: stored examples and coefficients depend on it. */
export const STRUCTURE = SCALARS + 2 * topics.length;

const MOST_CHARACTERS = 4_000;
const HEAD_CHARACTERS = MOST_CHARACTERS * 0.6;
const MOST_WORDS = 1_200;

export function extractFeatures({ text, ...counters }: RequestView, salt: WordSalt): Features {
  const read = excerpt(text);
  const words = wordsOf(read);
  const perTopic = topicCounts(words);
  return {
    counters,
    bucket: bucketOf(text.length, perTopic, counters),
    structure: structureOf(text.length, read, words, perTopic),
    ...hashed(words, salt),
  };
}

/** The beginning and the end of a long text: tasks stand in either. */
const excerpt = (text: string): string =>
  text.length <= MOST_CHARACTERS
    ? text
    : `${text.slice(0, HEAD_CHARACTERS)} ${text.slice(HEAD_CHARACTERS - MOST_CHARACTERS)}`;

const wordsOf = (text: string): string[] =>
  (text.toLowerCase().match(/[\p{L}\p{M}_]+|\p{N}+/gu) ?? [])
    .slice(0, MOST_WORDS)
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
  return `${strongest(perTopic)}/${lengthBand(characters)}${suffix}`;
}

function strongest(perTopic: Float32Array): string {
  let best = -1;
  perTopic.forEach((count, topic) => {
    if (count > (best < 0 ? 0 : (perTopic[best] ?? 0))) best = topic;
  });
  return topics[best] ?? 'general';
}

function structureOf(
  characters: number,
  read: string,
  words: readonly string[],
  perTopic: Float32Array,
): Float32Array {
  const kinds = characterKinds(read);
  const share = (count: number): number => count / Math.max(1, read.length);
  const lines = read.split('\n');
  const listed = lines.filter((one) => listLine.test(one)).length;
  const letters = words.reduce((sum, word) => sum + word.length, 0);
  const structure = new Float32Array(STRUCTURE);
  structure.set([
    Math.log1p(characters) / 8,
    Math.log1p(lines.length) / 4,
    Math.min(2, listed / 10),
    5 * share(kinds.digits),
    2 * share(kinds.foreign),
    5 * share(kinds.capitals),
    Math.min(2, kinds.questions / 3),
    letters / Math.max(1, words.length) / 8,
    5 * share(kinds.brackets),
    5 * share(kinds.operators),
  ]);
  perTopic.forEach((count, topic) => {
    structure[SCALARS + 2 * topic] = count > 0 ? 1 : 0;
    structure[SCALARS + 2 * topic + 1] = Math.log1p(count);
  });
  return structure;
}

const listLine = /^\s*(?:[-*•]|\(?[A-Za-z0-9]{1,2}[.):])\s/;

type Kind = 'digits' | 'foreign' | 'capitals' | 'questions' | 'brackets' | 'operators';

/** Kinds are found by code; what is beyond ASCII is foreign. */
const kindOfCode: readonly (Kind | undefined)[] = Array.from({ length: 128 }, (_, code) => {
  const one = String.fromCharCode(code);
  if (/\d/.test(one)) return 'digits';
  if (/[A-Z]/.test(one)) return 'capitals';
  if (one === '?') return 'questions';
  if (/[{}()[\];=<>]/.test(one)) return 'brackets';
  return /[\\^$+*/%]/.test(one) ? 'operators' : undefined;
});

function characterKinds(text: string): Record<Kind, number> {
  const kinds = { digits: 0, foreign: 0, capitals: 0, questions: 0, brackets: 0, operators: 0 };
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    const kind = code < 128 ? kindOfCode[code] : 'foreign';
    if (kind !== undefined) kinds[kind] += 1;
  }
  return kinds;
}

function hashed(words: readonly string[], { order }: WordSalt): Pick<Features, 'hashes' | 'counts'> {
  const counts = new Map<number, number>();
  const add = (hash: number): void => {
    const salted = order[fold(hash)] ?? hash % HASHES;
    const count = counts.get(salted) ?? 0;
    if (count > 0 || counts.size < MOST_TERMS) counts.set(salted, Math.min(255, count + 1));
  };
  let before: number | undefined;
  for (const word of words) {
    if (before !== undefined) add(fnv(word, fnv(' ', before)));
    before = fnv(word);
    add(before);
  }
  return { hashes: Uint16Array.from(counts.keys()), counts: Uint8Array.from(counts.values()) };
}
