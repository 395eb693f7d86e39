import { latencyColumns, latencyConditions, latencyQuantile } from './latency-steps';

/** The summed columns, under their database names. */
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

/** Sums over requests. Latencies are sums as well: a mean is theirs over `requests` and `firstTokens`. */
export type UsageSums = Readonly<Record<CountName, number>> & {
  readonly costNano: bigint;
  /** The latency histogram; requests older than the histogram are missing. */
  readonly latencySteps: readonly number[];
};

const counts = Object.entries(columns) as [CountName, string][];

export interface SumColumn {
  readonly name: string;
  /** The same sums of one record `r`. */
  readonly ofRecord: string;
  readonly type: 'bigint' | 'integer';
}

const ofRecord: Readonly<Record<string, string>> = {
  requests: '1',
  failures: '(r.code IS NOT NULL)::integer',
  failovers: 'r.failover::integer',
  cache_write_tokens: 'r.cache_write_tokens::bigint + r.cache_write_long_tokens',
  audio_tokens: 'r.audio_input_tokens::bigint + r.audio_output_tokens',
  first_token_ms: 'coalesce(r.first_token_ms, 0)',
  first_tokens: '(r.first_token_ms IS NOT NULL)::integer',
};

export const sumColumns: readonly SumColumn[] = [
  ...[...counts.map(([, column]) => column), 'cost_nano'].map((name) => ({
    name,
    ofRecord: ofRecord[name] ?? `r.${name}`,
    type: 'bigint' as const,
  })),
  ...latencyColumns.map((name, step) => ({
    name,
    ofRecord: `(${latencyConditions[step]?.('r.latency_ms')})::integer`,
    type: 'integer' as const,
  })),
];

export type SumsRow = Readonly<Record<string, string | null>>;

const zeros = Object.fromEntries(counts.map(([name]) => [name, 0])) as Record<CountName, number>;

export function sumsOfRow(row: SumsRow): UsageSums {
  const sums = {
    ...zeros,
    costNano: BigInt(row.cost_nano ?? 0),
    latencySteps: latencyColumns.map((column) => Number(row[column] ?? 0)),
  };
  for (const [name, column] of counts) sums[name] = Number(row[column] ?? 0);
  return sums;
}

export const NO_SUMS: UsageSums = sumsOfRow({});

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

export function lessSums(sums: UsageSums, other: UsageSums): UsageSums {
  const less = openCopy(sums);
  add(less, other, -1);
  return less;
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
