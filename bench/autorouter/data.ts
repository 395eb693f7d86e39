import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { extractFeatures, type Features, type WordSalt, wordSalt } from '#inside/autorouter/engine/index';
import { lengthBand } from '#inside/autorouter/engine/features';
import { topics } from '#inside/autorouter/engine/lexicon';

/** A prompt and the result of every model. */
export interface PromptRow {
  readonly id: string;
  readonly category: string;
  readonly features: Features;
  readonly scores: readonly number[];
  readonly tokensOut: readonly number[];
  /** Not every data set has texts. */
  readonly text?: string;
}

export interface DataSet {
  readonly name: string;
  readonly models: readonly string[];
  /** USD per 1M tokens, input and output. */
  readonly rates: readonly (readonly [number, number])[];
  readonly rows: readonly PromptRow[];
}

interface Header {
  readonly models: string[];
  readonly prices?: [number, number][];
}

interface RawRow {
  readonly id: string;
  readonly cat?: string;
  readonly p?: string;
  readonly s: string | number[];
  readonly o?: number[];
  readonly n?: number;
  readonly h?: number[];
  readonly x?: number[];
}

const files = {
  mix: 'llmrouter_hashed.jsonl.gz',
  mmluPro: 'mmlupro_5k.jsonl.gz',
  zeroEval: 'zeroeval_gsm_crux.jsonl.gz',
  pair: 'routellm_pair.jsonl.gz',
} as const;

/** Hashes words with a salt, as for an organisation's traffic. */
export const salt: WordSalt = wordSalt('bench:autorouter');

export const hasData = (folder: string): boolean =>
  Object.values(files).every((file) => existsSync(join(folder, file)));

export interface PublicData {
  readonly mix: DataSet;
  readonly mmluPro: DataSet;
  readonly mixed: DataSet;
  readonly mmluPair: DataSet;
  readonly gsmPair: DataSet;
}

export function readData(folder: string): PublicData {
  const mmluPro = readText(folder, 'mmluPro');
  const pair = readText(folder, 'pair');
  const part = (name: string, prefix: string): DataSet => ({
    ...pair,
    name,
    rows: pair.rows.filter(({ id }) => id.startsWith(prefix)),
  });
  return {
    mix: readHashed(folder),
    mmluPro,
    mixed: mergeSets(mmluPro, readText(folder, 'zeroEval')),
    mmluPair: part('RouteLLM MMLU', 'mmlu:'),
    gsmPair: part('RouteLLM GSM8K', 'gsm'),
  };
}

function read(folder: string, name: keyof typeof files): { header: Header; rows: RawRow[] } {
  const text = gunzipSync(readFileSync(join(folder, files[name]))).toString('utf8');
  const [header, ...rows] = text.trim().split('\n');
  return { header: JSON.parse(header ?? '') as Header, rows: rows.map((row) => JSON.parse(row) as RawRow) };
}

const scoresOf = (scores: string | number[]): number[] =>
  typeof scores === 'string' ? [...scores].map(Number) : scores;

function readText(folder: string, name: keyof typeof files): DataSet {
  const { header, rows } = read(folder, name);
  return {
    name,
    models: header.models,
    rates: header.prices ?? header.models.map((_, index) => [index + 1, index + 1] as const),
    rows: rows.map(({ id, cat = '', p = '', s, o }) => ({
      id,
      category: cat,
      features: featuresOf(p),
      scores: scoresOf(s),
      tokensOut: o ?? header.models.map(() => DEFAULT_TOKENS_OUT),
      text: p,
    })),
  };
}

/** Assumed for data sets without response lengths. */
const DEFAULT_TOKENS_OUT = 200;

export const featuresOf = (text: string): Features => extractFeatures({ ...plain(text.length), text }, salt);

const plain = (characters: number) => ({
  tokens: characters / 4,
  turns: 1,
  tools: 0,
  hasToolResult: false,
  hasImage: false,
  hasDocument: false,
  jsonMode: false,
  systemLength: 0,
  stream: false,
});

/** Reads a set without texts: hashes and signals as computed upstream, nine scalars and three signals per topic. */
function readHashed(folder: string): DataSet {
  const { header, rows } = read(folder, 'mix');
  return {
    name: 'LLMRouter mix',
    models: header.models,
    rates: header.prices ?? [],
    rows: rows.map(({ id, n = 0, h = [], x = [], s }) => ({
      id,
      category: '',
      features: {
        counters: plain(n),
        bucket: `${strongest(x)}/${lengthBand(n)}`,
        structure: structureOf(x),
        hashes: Uint16Array.from(h.filter((_, at) => at % 2 === 0)),
        counts: Uint8Array.from(h.filter((_, at) => at % 2 === 1)),
      },
      scores: scoresOf(s),
      tokensOut: header.models.map(() => DEFAULT_TOKENS_OUT),
    })),
  };
}

const SCALAR_COUNT = 9;

function strongest(x: readonly number[]): string {
  let best = -1;
  let maxCount = 0;
  topics.forEach((_, topic) => {
    const logCount = x[SCALAR_COUNT + 3 * topic + 1] ?? 0;
    if (logCount > maxCount) [best, maxCount] = [topic, logCount];
  });
  return topics[best] ?? 'general';
}

/** Presence and logarithm of every topic; the upstream word density has no equivalent here. */
const structureOf = (x: readonly number[]): Float32Array =>
  Float32Array.from([
    ...x.slice(0, SCALAR_COUNT),
    0,
    ...topics.flatMap((_, topic) => x.slice(SCALAR_COUNT + 3 * topic, SCALAR_COUNT + 3 * topic + 2)),
  ]);

/** The four models that both sets contain, by their name in each. */
const shared = [
  ['gemini-1.5-pro-002', 'gemini-1.5-pro'],
  ['gemini-1.5-flash-002', 'gemini-1.5-flash'],
  ['llama-3.1-70b-instruct', 'Meta-Llama-3.1-70B-Instruct'],
  ['llama-3.1-8b-instruct', 'Meta-Llama-3.1-8B-Instruct'],
] as const;

function mergeSets(left: DataSet, right: DataSet): DataSet {
  const withSharedModels = (set: DataSet, side: 0 | 1): PromptRow[] => {
    const columns = shared.map((names) => set.models.indexOf(names[side]));
    if (columns.includes(-1)) throw new Error(`${set.name} lacks one of the shared models`);
    const pick = (values: readonly number[]): number[] => columns.map((column) => values[column] ?? 0);
    return set.rows.map((row) => ({ ...row, scores: pick(row.scores), tokensOut: pick(row.tokensOut) }));
  };
  return {
    name: 'mixed',
    models: shared.map(([name]) => name),
    rates: shared.map(([name]) => left.rates[left.models.indexOf(name)] ?? [0, 0]),
    rows: [...withSharedModels(left, 0), ...withSharedModels(right, 1)],
  };
}
