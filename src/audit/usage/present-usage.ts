import { formatUsd, toJsonNumber } from '../../kernel';
import type { UsageReport, UsageGroup } from './usage.query';
import type { UsageRequest } from './usage-request';
import { allTokens, p95Of, type UsageSums } from './usage-sums';

const mean = (sum: number, count: number): number | null => (count === 0 ? null : Math.round(sum / count));

/** Sums as JSON; `cost` and `cost_nano` are exact. */
const presentSums = (sums: UsageSums) => ({
  requests: sums.requests,
  failures: sums.failures,
  failovers: sums.failovers,
  input_tokens: sums.inputTokens,
  cache_read_tokens: sums.cacheReadTokens,
  cache_write_tokens: sums.cacheWriteTokens,
  output_tokens: sums.outputTokens,
  reasoning_tokens: sums.reasoningTokens,
  audio_tokens: sums.audioTokens,
  image_tokens: sums.imageTokens,
  image_output_tokens: sums.imageOutputTokens,
  total_tokens: allTokens(sums),
  mean_latency_ms: mean(sums.latencyMs, sums.requests),
  p95_latency_ms: p95Of(sums),
  mean_first_token_ms: mean(sums.firstTokenMs, sums.firstTokens),
  cost: formatUsd(sums.costNano),
  cost_usd: toJsonNumber(sums.costNano),
  cost_nano: sums.costNano.toString(),
});

const presentGroup = ({ kind, value, label }: UsageGroup) => ({
  group_kind: kind,
  group: value,
  group_name: label,
});

/** API clients know keys by their id at `/v1/manage`. */
const presentKeyOf = (groupBy: UsageRequest['groupBy'], { publicId }: UsageGroup) =>
  groupBy === 'key' ? { key_public_id: publicId } : {};

export function presentUsage(request: UsageRequest, report: UsageReport) {
  const { from, to, zone, bucket, groupBy } = request;
  return {
    object: 'usage',
    from: from.toISOString(),
    to: to.toISOString(),
    zone,
    bucket,
    group_by: groupBy ?? null,
    total: presentSums(report.total),
    groups: report.groups.map((group) => ({
      ...presentGroup(group),
      ...presentKeyOf(groupBy, group),
      ...presentSums(group.sums),
    })),
    data: report.buckets.map((sums, index) => ({
      ...edgesOf(report, request, index),
      ...presentSums(sums),
      ...(groupBy
        ? {
            groups: report.groups.flatMap((group) => {
              const cell = group.buckets[index];
              return cell === undefined || cell.requests === 0
                ? []
                : [{ ...presentGroup(group), ...presentKeyOf(groupBy, group), ...presentSums(cell) }];
            }),
          }
        : {}),
    })),
  };
}

const edgesOf = ({ borders }: UsageReport, { to }: UsageRequest, index: number) => ({
  start: borders[index]?.toISOString() ?? null,
  end: (borders[index + 1] ?? to).toISOString(),
});

const sumNames = [
  'requests',
  'failures',
  'failovers',
  'input_tokens',
  'cache_read_tokens',
  'cache_write_tokens',
  'output_tokens',
  'reasoning_tokens',
  'audio_tokens',
  'image_tokens',
  'image_output_tokens',
  'total_tokens',
  'mean_latency_ms',
  'p95_latency_ms',
  'mean_first_token_ms',
  'cost',
  'cost_nano',
] as const satisfies readonly (keyof ReturnType<typeof presentSums>)[];

export const usageFileColumns = [
  'start',
  'end',
  'group_by',
  'group_kind',
  'group',
  'group_name',
  ...sumNames,
  'key_public_id',
];

export function* usageFileRows(request: UsageRequest, report: UsageReport): Generator<readonly unknown[]> {
  const { groupBy } = request;
  for (const [index, all] of report.buckets.entries()) {
    const { start, end } = edgesOf(report, request, index);
    const rows = groupBy
      ? report.groups.map((group) => ({
          ...presentGroup(group),
          publicId: group.publicId,
          sums: group.buckets[index],
        }))
      : [{ group_kind: null, group: null, group_name: null, publicId: null, sums: all }];
    for (const { sums, group_kind, group, group_name, publicId } of rows) {
      if (sums === undefined || sums.requests === 0) continue;
      const presented = presentSums(sums);
      yield [
        start,
        end,
        groupBy ?? null,
        group_kind,
        group,
        group_name,
        ...sumNames.map((name) => presented[name]),
        publicId,
      ];
    }
  }
}
