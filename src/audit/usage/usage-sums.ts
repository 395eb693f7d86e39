/** What is summed of requests, under the names of its columns. */
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
export type UsageSums = Readonly<Record<CountName, number>> & { readonly costNano: bigint };

const counts = Object.entries(columns) as [CountName, string][];

export const sumColumns: readonly string[] = [...counts.map(([, column]) => column), 'cost_nano'];

/** The same of one record. */
export const recordSums: readonly string[] = [
  '1::bigint',
  '(r.code IS NOT NULL)::integer::bigint',
  'r.failover::integer::bigint',
  'r.input_tokens::bigint',
  'r.cache_read_tokens::bigint',
  'r.cache_write_tokens::bigint + r.cache_write_long_tokens',
  'r.output_tokens::bigint',
  'r.reasoning_tokens::bigint',
  'r.audio_input_tokens::bigint + r.audio_output_tokens',
  'r.image_tokens::bigint',
  'r.image_output_tokens::bigint',
  'r.latency_ms::bigint',
  'coalesce(r.first_token_ms, 0)::bigint',
  '(r.first_token_ms IS NOT NULL)::integer::bigint',
  'r.cost_nano',
];

export type SumsRow = Readonly<Record<string, string | null>>;

export const sumsOfRow = (row: SumsRow): UsageSums => ({
  ...(Object.fromEntries(counts.map(([name, column]) => [name, Number(row[column] ?? 0)])) as Record<
    CountName,
    number
  >),
  costNano: BigInt(row.cost_nano ?? 0),
});

export const NO_SUMS: UsageSums = sumsOfRow({});

const combined = (a: UsageSums, b: UsageSums, sign: 1 | -1): UsageSums => ({
  ...(Object.fromEntries(counts.map(([name]) => [name, a[name] + sign * b[name]])) as Record<
    CountName,
    number
  >),
  costNano: a.costNano + BigInt(sign) * b.costNano,
});

export const addSums = (a: UsageSums, b: UsageSums): UsageSums => combined(a, b, 1);
export const lessSums = (a: UsageSums, b: UsageSums): UsageSums => combined(a, b, -1);

export const allTokens = (sums: UsageSums): number =>
  sums.inputTokens +
  sums.cacheReadTokens +
  sums.cacheWriteTokens +
  sums.outputTokens +
  sums.reasoningTokens +
  sums.audioTokens +
  sums.imageTokens +
  sums.imageOutputTokens;
