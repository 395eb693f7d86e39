import {
  allTokens,
  p95Of,
  NO_SUMS,
  type UsageReport,
  type UsageBucket,
  type UsageGroup,
  type UsageRequest,
  type UsageSums,
} from '../../audit';
import {
  barChart,
  type ChartModel,
  type ChartSeries,
  formatCompact,
  formatCost,
  formatLatency,
  formatMoney,
  formatTime,
  lineChart,
  slotOf,
  type Translate,
} from '../../views';
import type { Localisation } from '../../web';
import type { UsageMeasure } from './usage.dto';
import { groupLabel } from './group-label';

const MAX_SERIES = 7;

export const measureLabel = (measure: UsageMeasure, translate: Translate): string =>
  translate(`usage.measure.${measure}`);

export function usageChart(
  measure: UsageMeasure,
  question: UsageRequest,
  answer: UsageReport,
  localisation: Localisation,
): ChartModel {
  const { translate } = localisation;
  const input = {
    title: measureLabel(measure, translate),
    labels: answer.borders.map((border) => bucketLabel(border, question.bucket, localisation)),
    series: seriesOf(measure, question, answer, localisation),
    format: formatOf(measure, localisation),
    totalLabel: translate('list.total'),
    pointLabel: translate(`usage.bucket.${question.bucket}`),
  };
  return isLatency(measure) ? lineChart(input) : barChart(input);
}

/** Latencies of groups cannot be summed. */
const isLatency = (measure: UsageMeasure): boolean => measure === 'latency' || measure === 'p95';

export const bucketLabel = (border: Date, bucket: UsageBucket, { locale, timeZone }: Localisation): string =>
  formatTime(locale, timeZone, border, bucket === 'hour' ? 'minute' : bucket);

function seriesOf(
  measure: UsageMeasure,
  question: UsageRequest,
  answer: UsageReport,
  localisation: Localisation,
): ChartSeries[] {
  const { translate } = localisation;
  if (answer.groups.length === 0) {
    return measure === 'tokens'
      ? tokenSeries(answer, localisation)
      : [series(measureLabel(measure, translate), measure, answer.buckets)];
  }
  const namedGroups = answer.groups.filter(({ kind }) => kind !== 'others').slice(0, MAX_SERIES);
  // A model has the same colour on every page; requests without a model have none.
  const slotFor = ({ kind, label }: UsageGroup): Pick<ChartSeries, 'slot'> =>
    question.groupBy === 'model' && kind !== 'none' && label !== null ? { slot: slotOf(label) } : {};
  const namedSeries = namedGroups.map((group) => ({
    ...series(groupLabel(group, question, localisation), measure, group.buckets),
    ...slotFor(group),
  }));
  const others = answer.groups.filter((group) => !namedGroups.includes(group));
  if (others.length === 0 || isLatency(measure)) return namedSeries;
  const values = answer.borders.map((_, index) =>
    others.reduce((sum, { buckets }) => sum + valueOf(measure, buckets[index] ?? NO_SUMS), 0),
  );
  return [...namedSeries, { name: translate('usage.others'), values, slot: 8 }];
}

const series = (name: string, measure: UsageMeasure, buckets: readonly UsageSums[]): ChartSeries => ({
  name,
  values: buckets.map((sums) => valueOf(measure, sums)),
});

const tokenSeries = ({ buckets }: UsageReport, { translate }: Localisation): ChartSeries[] =>
  (
    [
      ['input', (sums) => sums.inputTokens],
      ['cache-read', (sums) => sums.cacheReadTokens],
      ['cache-write', (sums) => sums.cacheWriteTokens],
      ['output', (sums) => sums.outputTokens],
      ['reasoning', (sums) => sums.reasoningTokens],
      ['media', (sums) => sums.audioTokens + sums.imageTokens + sums.imageOutputTokens],
    ] as readonly (readonly [string, (sums: UsageSums) => number])[]
  ).map(([name, tokensOf]) => ({ name: translate(`usage.tokens.${name}`), values: buckets.map(tokensOf) }));

/** For drawing only, as floats are inexact; tables show exact amounts. */
function valueOf(measure: UsageMeasure, sums: UsageSums): number {
  switch (measure) {
    case 'cost':
      return Number(sums.costNano);
    case 'tokens':
      return allTokens(sums);
    case 'requests':
      return sums.requests;
    case 'errors':
      return sums.failures;
    case 'p95':
      return p95Of(sums) ?? 0;
    case 'latency':
      return sums.requests === 0 ? 0 : sums.latencyMs / sums.requests;
  }
}

function formatOf(measure: UsageMeasure, { locale }: Localisation): (value: number) => string {
  switch (measure) {
    case 'cost':
      return (value) => {
        const nano = BigInt(Math.round(value));
        return nano === 0n || nano >= 1_000_000_000n ? formatMoney(locale, nano) : formatCost(locale, nano);
      };
    case 'latency':
    case 'p95':
      return (value) => formatLatency(locale, value);
    case 'tokens':
    case 'requests':
    case 'errors':
      return (value) => formatCompact(locale, value);
  }
}
