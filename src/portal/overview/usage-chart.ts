import type { UsageAnswer, UsageGroup } from '../../audit';
import { barChart, type ChartModel, type ChartSeries, formatCost, slotOf } from '../../views';
import type { Localisation } from '../../web';
import { bucketLabel } from '../usage/usage-chart';

/** The slot that no name is given. */
const OTHER_SLOT = 8;

/** The chart stacks the spending of each day by model: the dearest by name, the rest together. */
export function spendChart(
  { borders, groups }: Pick<UsageAnswer, 'borders' | 'groups'>,
  { locale, timeZone, translate }: Localisation,
): ChartModel {
  return barChart({
    title: translate('overview.spend-by-model'),
    labels: borders.map((border) => bucketLabel(border, 'day', { locale, timeZone, translate })),
    // Requests that no model answered cost nothing.
    series: groups
      .filter(({ kind }) => kind !== 'none')
      .map((group) => seriesOf(group, translate('overview.other-models'))),
    format: (value) => formatCost(locale, BigInt(Math.round(value))),
    totalLabel: translate('list.total'),
    pointLabel: translate('activity.page.day'),
  });
}

const seriesOf = ({ kind, label, buckets }: UsageGroup, others: string): ChartSeries => ({
  name: kind === 'others' ? others : (label ?? '–'),
  slot: kind === 'others' || label === null ? OTHER_SLOT : slotOf(label),
  values: buckets.map(({ costNano }) => Number(costNano)),
});
