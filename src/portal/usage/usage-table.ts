import {
  allTokens,
  p95Of,
  type UsageReport,
  type UsageGroup,
  type UsageRequest,
  type UsageSums,
} from '../../audit';
import type { TableCell, ColumnModel, RowModel, TableModel } from '../../views';
import { addressOf, type HttpRequest, type Localisation, pathOf, queryOf } from '../../web';
import { groupLabel } from './group-label';
import { bucketLabel } from './usage-chart';

/** Builds one row per group, or one per bucket without grouping, and a row of totals. */
export function usageTable(
  request: HttpRequest,
  question: UsageRequest,
  answer: UsageReport,
  localisation: Localisation,
): TableModel {
  const { translate } = localisation;
  const { groupBy, bucket } = question;
  const firstLabel = groupBy ? translate(`usage.group.${groupBy}`) : translate(`usage.bucket.${bucket}`);
  const rows = groupBy
    ? answer.groups.map((group) => groupRow(group, request, question, answer.total, localisation))
    : answer.buckets.flatMap((sums, index) => {
        const border = answer.borders[index];
        return border === undefined
          ? []
          : [rowOf(bucketLabel(border, bucket, localisation), undefined, sums, answer.total)];
      });
  return {
    caption: translate('usage.table'),
    columns: columnsOf(firstLabel, localisation),
    rows,
    totals: [{ kind: 'text', value: translate('list.total') }, ...cellsOf(answer.total, answer.total)],
    empty: { title: translate('usage.nothing-title'), text: translate('usage.nothing-text') },
  };
}

function columnsOf(first: string, { translate }: Localisation): ColumnModel[] {
  const column = (name: string, minor = false): ColumnModel => ({
    label: translate(`usage.column.${name}`),
    align: 'end',
    ...(minor ? { minor } : {}),
  });
  return [
    { label: first },
    column('cost'),
    column('share', true),
    column('requests'),
    column('failures', true),
    column('input', true),
    column('output', true),
    column('tokens', true),
    column('latency', true),
    column('p95', true),
  ];
}

function groupRow(
  group: UsageGroup,
  request: HttpRequest,
  question: UsageRequest,
  total: UsageSums,
  localisation: Localisation,
): RowModel {
  const { groupBy } = question;
  const href =
    group.value === null || !groupBy
      ? undefined
      : addressOf(pathOf(request), queryOf(request), { [groupBy]: group.value, group_by: null });
  return rowOf(groupLabel(group, question, localisation), href, group.sums, total);
}

const rowOf = (label: string, href: string | undefined, sums: UsageSums, total: UsageSums): RowModel => ({
  ...(href === undefined ? {} : { href }),
  cells: [{ kind: 'text', value: label, heading: true }, ...cellsOf(sums, total)],
});

function cellsOf(sums: UsageSums, total: UsageSums): TableCell[] {
  const share = total.costNano === 0n ? 0 : Number((sums.costNano * 10_000n) / total.costNano) / 10_000;
  const end = { align: 'end' } as const;
  const minor = { align: 'end', minor: true } as const;
  return [
    { kind: 'cost', value: sums.costNano, ...end },
    { kind: 'percent', value: share, ...minor },
    { kind: 'number', value: sums.requests, ...end },
    { kind: 'number', value: sums.failures, ...minor },
    { kind: 'compact', value: sums.inputTokens + sums.cacheReadTokens + sums.cacheWriteTokens, ...minor },
    { kind: 'compact', value: sums.outputTokens + sums.reasoningTokens, ...minor },
    { kind: 'compact', value: allTokens(sums), ...minor },
    { kind: 'latency', value: sums.requests === 0 ? null : sums.latencyMs / sums.requests, ...minor },
    { kind: 'latency', value: p95Of(sums), ...minor },
  ];
}
