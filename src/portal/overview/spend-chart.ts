import type { UsageReport, UsageGroup } from '../../audit';
import { barChart, type ChartModel, type ChartSeries, formatCost, slotOf } from '../../views';
import type { Localisation } from '../../web';
import { bucketLabel } from '../usage/usage-chart';

/** The slot that slotOf never returns. */
const OTHER_SLOT = 8;

/** Stacks the spend per day by model: the costliest by name, the others combined. */
export function spendChart(
  { borders, groups }: Pick<UsageReport, 'borders' | 'groups'>,
  { locale, timeZone, translate }: Localisation,
): ChartModel {
  return barChart({
    title: translate('overview.spend-by-model'),
    labels: borders.map((border) => bucketLabel(border, 'day', { locale, timeZone, translate })),
    // Omits requests without a model, which cost nothing.
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
