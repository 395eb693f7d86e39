import { latencyColumns, latencyQuantile } from './latency-steps';

const columns = {
  requests: 'requests',
  failures: 'failures',
  failovers: 'failovers',
  inputTokens: 'input_tokens',
  cacheReadTokens: 'cache_read_tokens',
  cacheWriteTokens: 'cache_write_tokens',
  outputTokens: 'output_tokens',
  reasoningTokens: 'reasoning_tokens',
  audioTokens: 'audio_tokens',
  imageTokens: 'image_tokens',
  imageOutputTokens: 'image_output_tokens',
  latencyMs: 'latency_ms',
  firstTokenMs: 'first_token_ms',
  firstTokens: 'first_tokens',
} as const;

type CountName = keyof typeof columns;

/** Sums over requests. Latencies are sums too: divide them by `requests` or `firstTokens` for means. */
export type UsageSums = Readonly<Record<CountName, number>> & {
  readonly costNano: bigint;
  readonly latencySteps: readonly number[];
};

const counts = Object.entries(columns) as [CountName, string][];

interface SumColumn {
  readonly name: string;
  readonly type: 'bigint' | 'integer';
}

const countColumns = [...counts.map(([, column]) => column), 'cost_nano'];

export const sumColumns: readonly SumColumn[] = [
  ...countColumns.map((name) => ({ name, type: 'bigint' as const })),
  ...latencyColumns.map((name) => ({ name, type: 'integer' as const })),
];

const recordExpressions: Readonly<Record<string, string>> = {
  requests: '1',
  failures: '(r.code IS NOT NULL)::integer',
  failovers: 'r.failover::integer',
  cache_write_tokens: 'r.cache_write_tokens::bigint + r.cache_write_long_tokens',
  audio_tokens: 'r.audio_input_tokens::bigint + r.audio_output_tokens',
  first_token_ms: 'coalesce(r.first_token_ms, 0)',
  first_tokens: '(r.first_token_ms IS NOT NULL)::integer',
};

export const recordSums = countColumns
  .map((name) => `sum(${recordExpressions[name] ?? `r.${name}`}) AS ${name}`)
  .join(', ');

export const stepSums = [
  ...countColumns.map((name) => `sum(${name})::bigint AS ${name}`),
  ...latencyColumns.map(
    (name, step) => `coalesce(sum(requests) FILTER (WHERE step = ${step}), 0)::integer AS ${name}`,
  ),
].join(', ');

/** All sums form one text, because reading a column for each takes longer than computing them. */
export const sumsAsText = `(ARRAY[${sumColumns.map(({ name }) => `sum(${name})`).join(', ')}])::text AS sums`;

const zeros = Object.fromEntries(counts.map(([name]) => [name, 0])) as Record<CountName, number>;

export function readSums(text: string): UsageSums {
  const values = text.slice(1, -1).split(',');
  const sums = {
    ...zeros,
    costNano: BigInt(values[counts.length] ?? 0),
    latencySteps: values.slice(counts.length + 1).map(Number),
  };
  for (const [index, [name]] of counts.entries()) sums[name] = Number(values[index]);
  return sums;
}

export const NO_SUMS: UsageSums = { ...zeros, costNano: 0n, latencySteps: latencyColumns.map(() => 0) };

type OpenSums = { -readonly [Name in CountName]: number } & { costNano: bigint; latencySteps: number[] };

function add(sums: OpenSums, other: UsageSums, sign: 1 | -1): void {
  for (const [name] of counts) sums[name] += sign * other[name];
  sums.costNano += BigInt(sign) * other.costNano;
  other.latencySteps.forEach(
    (count, step) => (sums.latencySteps[step] = (sums.latencySteps[step] ?? 0) + sign * count),
  );
}

const openCopy = (sums: UsageSums): OpenSums => ({ ...sums, latencySteps: [...sums.latencySteps] });

export function sumOf(all: Iterable<UsageSums>): UsageSums {
  const sums = openCopy(NO_SUMS);
  for (const one of all) add(sums, one, 1);
  return sums;
}

export function subtractSums(sums: UsageSums, other: UsageSums): UsageSums {
  const difference = openCopy(sums);
  add(difference, other, -1);
  return difference;
}

/** The approximate 95th percentile of latency; null without a histogram. */
export const p95Of = ({ latencySteps }: UsageSums): number | null => latencyQuantile(latencySteps, 0.95);

export const allTokens = (sums: UsageSums): number =>
  sums.inputTokens +
  sums.cacheReadTokens +
  sums.cacheWriteTokens +
  sums.outputTokens +
  sums.reasoningTokens +
  sums.audioTokens +
  sums.imageTokens +
  sums.imageOutputTokens;
