import { daysOf } from '../../kernel';
import {
  barChart,
  type ChartModel,
  formatNumber,
  lineChart,
  scatterChart,
  type ScatterModel,
  slotOf,
} from '../../views';
import { dayLabels } from '../lists/day-labels';
import type { Localisation } from '../../web';
import type { AutorouterData } from './autorouter-data';
import { costAmountText } from './autorouter-text';

export function shareChart({ byDay, period }: AutorouterData, localisation: Localisation): ChartModel | null {
  if (byDay.length === 0) return null;
  const { translate, locale, timeZone } = localisation;
  const names = daysOf(period, timeZone);
  const models = [...new Set(byDay.map(({ model }) => model))].sort();
  const counts = new Map(byDay.map(({ day, model, requests }) => [`${day} ${model}`, requests]));
  return barChart({
    title: translate('autorouter.by-day'),
    labels: dayLabels(names, { locale }),
    series: models.map((model) => ({
      name: model,
      slot: slotOf(model),
      values: names.map((name) => counts.get(`${name} ${model}`) ?? 0),
    })),
    format: (value) => formatNumber(locale, value),
    totalLabel: translate('list.total'),
    pointLabel: translate('activity.page.day'),
    isCount: true,
  });
}

/** Expected spend relative to the reference model, and the share answered by another model, per week. */
export function trendChart({ byWeek }: AutorouterData, localisation: Localisation): ChartModel | null {
  const estimatedWeeks = byWeek.filter(({ estimatedCostRatio }) => estimatedCostRatio !== null);
  if (estimatedWeeks.length < 2) return null;
  const { translate, locale } = localisation;
  return lineChart({
    title: translate('autorouter.trend'),
    labels: dayLabels(
      estimatedWeeks.map(({ week }) => week),
      { locale },
    ),
    series: [
      {
        name: translate('autorouter.trend-cost'),
        values: estimatedWeeks.map(({ estimatedCostRatio }) => (estimatedCostRatio ?? 0) * 100),
      },
      {
        name: translate('autorouter.trend-away'),
        values: estimatedWeeks.map(({ away, requests }) => (away / requests) * 100),
      },
    ],
    format: (value) => `${new Intl.NumberFormat(locale, { maximumFractionDigits: 0 }).format(value)} %`,
    totalLabel: null,
    pointLabel: translate('qualitative.week'),
  });
}

/** Candidates by cost and score, with the positions of the dial as a path and the current one marked. */
export function qualityPlot(
  { report, candidates, dials, policy }: AutorouterData,
  localisation: Localisation,
): ScatterModel | null {
  const { translate } = localisation;
  const open = new Set(candidates);
  return scatterChart({
    title: translate('autorouter.plot'),
    xLabel: translate('autorouter.plot-cost'),
    yLabel: translate('autorouter.plot-quality'),
    points: (report?.models ?? []).flatMap(({ model, mean, cost }) =>
      mean === null || cost === null || !open.has(model)
        ? []
        : [{ name: model, slot: slotOf(model), x: cost, y: mean }],
    ),
    path: {
      name: translate('autorouter.plot-dial', { dial: policy.dial }),
      stops: dials.flatMap(({ dial, cost, score }) =>
        cost === null || score === null
          ? []
          : [{ label: String(dial), x: cost.value, y: score.value, current: dial === policy.dial }],
      ),
    },
    formatX: (value) => costAmountText(value, localisation),
    formatY: (value) =>
      new Intl.NumberFormat(localisation.locale, { maximumFractionDigits: 1 }).format(value),
  });
}
