import { toJsonNumber } from '../../kernel';
import { barChart, type ChartModel, formatCost, slotOf } from '../../views';
import { dayLabels, dayNames } from '../lists/days';
import type { Looks } from '../lists/looks';
import type { ModelDay } from './usage-figures';

const MOST_SERIES = 7;
/** The slot that no name is given. */
const OTHER_SLOT = 8;

/** What was spent each day, stacked by model: the dearest by name, the rest together. */
export function spendChart(
  rows: readonly ModelDay[],
  { days, now }: { readonly days: number; readonly now: number },
  { locale, timeZone, translate }: Looks,
): ChartModel {
  const names = dayNames(days, now, timeZone);
  const dearest = modelsByCost(rows).slice(0, MOST_SERIES);
  const valuesOf = (isMeant: (model: string) => boolean): number[] => {
    const costs = new Map<string, bigint>();
    for (const { day, model, cost } of rows)
      if (isMeant(model)) costs.set(day, (costs.get(day) ?? 0n) + cost);
    return names.map((day) => toJsonNumber(costs.get(day) ?? 0n));
  };
  const others = rows.some(({ model }) => !dearest.includes(model));
  return barChart({
    title: translate('overview.spend-by-model'),
    labels: dayLabels(names, { locale }),
    series: [
      ...dearest.map((model) => ({
        name: model,
        slot: slotOf(model),
        values: valuesOf((name) => name === model),
      })),
      ...(others
        ? [
            {
              name: translate('overview.other-models'),
              slot: OTHER_SLOT,
              values: valuesOf((name) => !dearest.includes(name)),
            },
          ]
        : []),
    ],
    format: (value) => formatCost(locale, value.toFixed(9)),
    totalLabel: translate('list.total'),
    pointLabel: translate('activity.page.day'),
  });
}

export function modelsByCost(rows: readonly ModelDay[]): string[] {
  const costs = new Map<string, bigint>();
  for (const { model, cost } of rows) costs.set(model, (costs.get(model) ?? 0n) + cost);
  return [...costs].sort(([, a], [, b]) => (a < b ? 1 : a > b ? -1 : 0)).map(([model]) => model);
}
