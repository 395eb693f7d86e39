import {
  allTokens,
  p95Of,
  NO_SUMS,
  type UsageAnswer,
  type UsageBucket,
  type UsageGroup,
  type UsageQuestion,
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
import type { Measure } from './usage.form';
import { groupLabel } from './group-label';

const MOST_SERIES = 7;

export const measureNames = (measure: Measure, translate: Translate): string =>
  translate(`usage.measure.${measure}`);

/** Bars by bucket, the costliest groups apart; of latencies a line each, as they do not add up. */
export function usageChart(
  measure: Measure,
  question: UsageQuestion,
  answer: UsageAnswer,
  localisation: Localisation,
): ChartModel {
  const { translate } = localisation;
  const input = {
    title: measureNames(measure, translate),
    labels: answer.borders.map((border) => bucketLabel(border, question.bucket, localisation)),
    series: seriesOf(measure, question, answer, localisation),
    format: formatOf(measure, localisation),
    totalLabel: translate('list.total'),
    pointLabel: translate(`usage.bucket.${question.bucket}`),
  };
  return isTime(measure) ? lineChart(input) : barChart(input);
}

/** Times of groups do not add up. */
const isTime = (measure: Measure): boolean => measure === 'latency' || measure === 'p95';

export const bucketLabel = (border: Date, bucket: UsageBucket, { locale, timeZone }: Localisation): string =>
  formatTime(locale, timeZone, border, bucket === 'hour' ? 'minute' : bucket);

function seriesOf(
  measure: Measure,
  question: UsageQuestion,
  answer: UsageAnswer,
  localisation: Localisation,
): ChartSeries[] {
  const { translate } = localisation;
  if (answer.groups.length === 0) {
    return measure === 'tokens'
      ? tokenSeries(answer, localisation)
      : [series(measureNames(measure, translate), measure, answer.buckets)];
  }
  const named = answer.groups.filter(({ kind }) => kind !== 'others').slice(0, MOST_SERIES);
  // A model has its colour on every page; what no model answered is none.
  const slotFor = ({ kind, label }: UsageGroup): Pick<ChartSeries, 'slot'> =>
    question.groupBy === 'model' && kind !== 'none' && label !== null ? { slot: slotOf(label) } : {};
  const shown = named.map((group) => ({
    ...series(groupLabel(group, question, localisation), measure, group.buckets),
    ...slotFor(group),
  }));
  const others = answer.groups.filter((group) => !named.includes(group));
  if (others.length === 0 || isTime(measure)) return shown;
  const values = answer.borders.map((_, place) =>
    others.reduce((sum, { buckets }) => sum + valueOf(measure, buckets[place] ?? NO_SUMS), 0),
  );
  return [...shown, { name: translate('usage.others'), values, slot: 8 }];
}

const series = (name: string, measure: Measure, buckets: readonly UsageSums[]): ChartSeries => ({
  name,
  values: buckets.map((sums) => valueOf(measure, sums)),
});

const tokenSeries = ({ buckets }: UsageAnswer, { translate }: Localisation): ChartSeries[] =>
  (
    [
      ['input', (sums) => sums.inputTokens],
      ['cache-read', (sums) => sums.cacheReadTokens],
      ['cache-write', (sums) => sums.cacheWriteTokens],
      ['output', (sums) => sums.outputTokens],
      ['reasoning', (sums) => sums.reasoningTokens],
      ['media', (sums) => sums.audioTokens + sums.imageTokens + sums.imageOutputTokens],
    ] as readonly (readonly [string, (sums: UsageSums) => number])[]
  ).map(([name, of]) => ({ name: translate(`usage.tokens.${name}`), values: buckets.map(of) }));

/** It is only for what is drawn: amounts in tables are exact. */
function valueOf(measure: Measure, sums: UsageSums): number {
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

function formatOf(measure: Measure, { locale }: Localisation): (value: number) => string {
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
