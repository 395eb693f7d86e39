import type { ManagedKey } from '../../keys';
import type { Interval } from '../../quality';
import type { AutoSettings } from '../../routing';
import {
  type BannerModel,
  barChart,
  type Cell,
  type ChartModel,
  type FieldModel,
  formatNumber,
  type LabelledFigure,
  type PeriodPickerModel,
  slotOf,
  type TableModel,
  type TileModel,
} from '../../views';
import { type HttpRequest, periodWords, scopeWords } from '../../web';
import { dayLabels, dayNames } from '../lists/days';
import type { Looks } from '../lists/looks';
import type { AutorouterFacts } from './autorouter-facts';
import { ownFields } from './autorouter-fields';
import { bucketTable, decisionTable, modelTable } from './autorouter-tables';
import { changeText, intervalText } from './quality/report-model';
import { simulatedBanner } from './quality/quality-page';

const choices = [7, 30, 90] as const;

export interface PageFacts {
  readonly request: HttpRequest;
  readonly facts: AutorouterFacts;
  readonly settings: {
    readonly own: AutoSettings;
    readonly keys: readonly ManagedKey[];
    readonly models: readonly string[];
  };
  readonly looks: Looks;
}

export interface AutorouterPageModel {
  readonly scope: string;
  readonly periods: PeriodPickerModel;
  readonly state: BannerModel;
  readonly simulated: BannerModel | null;
  readonly tiles: readonly TileModel[];
  readonly chart: ChartModel | null;
  readonly models: TableModel;
  readonly buckets: TableModel;
  readonly decisions: TableModel;
  readonly exclusions: readonly LabelledFigure[];
  readonly calibration: TableModel;
  readonly calibrationNote: string;
  readonly userFields: readonly FieldModel[];
  readonly keyFields: readonly FieldModel[] | null;
}

export function autorouterPage({ request, facts, settings, looks }: PageFacts): AutorouterPageModel {
  const { translate, timeZone } = looks;
  const { days } = facts;
  return {
    scope: `${periodWords(days, timeZone, translate)} · ${scopeWords(request, translate)}`,
    periods: {
      options: choices.map((choice) => ({
        label: translate('overview.days', { count: choice }),
        href: `/dashboard/autorouter?days=${choice}`,
        current: choice === days,
      })),
      zone: timeZone,
    },
    state: stateOf(facts, looks),
    simulated: facts.isSimulated ? simulatedBanner(translate) : null,
    tiles: tilesOf(facts, looks),
    chart: facts.byDay.length === 0 ? null : shareChart(facts, looks),
    models: modelTable(facts, looks),
    buckets: bucketTable(facts, looks),
    decisions: decisionTable(facts, looks),
    exclusions: Object.entries(facts.excluded).map(([reason, count]) => ({
      label: translate('autorouter.excluded-by', { reason }),
      figure: { kind: 'number', value: count },
    })),
    calibration: calibrationTable(facts, looks),
    calibrationNote: calibrationNote(facts, looks),
    userFields: ownFields('user', settings.own, settings.models, translate),
    keyFields:
      settings.keys.length === 0
        ? null
        : [
            {
              id: 'key-key_id',
              name: 'key_id',
              type: 'select',
              label: translate('autorouter.key'),
              options: settings.keys.map(({ publicId, name }) => ({ value: publicId, label: name })),
            },
            ...ownFields('key', {}, settings.models, translate),
          ],
  };
}

/** Off, learning, or choosing: what the router does now, and what it waits for. */
function stateOf({ policy, learning }: AutorouterFacts, { translate, locale }: Looks): BannerModel {
  if (policy.mode === 'off')
    return {
      tone: 'neutral',
      title: translate('autorouter.state-off'),
      text: translate('autorouter.state-off-text'),
    };
  const judged = formatNumber(locale, Math.floor(learning?.judged ?? 0));
  const needed = formatNumber(locale, learning?.needed ?? 0);
  if (learning === null)
    return {
      tone: 'info',
      title: translate('autorouter.state-alone'),
      text: translate('autorouter.state-alone-text'),
    };
  if (policy.mode === 'on' && learning.ready)
    return {
      tone: 'ok',
      title: translate('autorouter.state-on'),
      text: translate('autorouter.state-on-text', { judged }),
    };
  return {
    tone: 'info',
    title: translate('autorouter.state-shadow'),
    text: translate(learning.ready ? 'autorouter.state-shadow-ready' : 'autorouter.state-shadow-text', {
      judged,
      needed,
      each: formatNumber(locale, learning.neededPerModel),
    }),
  };
}

function tilesOf({ totals, measured, evaluationSpend }: AutorouterFacts, looks: Looks): TileModel[] {
  const { translate } = looks;
  const text = (name: string): string => translate(`autorouter.${name}`);
  const few = translate('qualitative.too-few');
  const pairs = translate('autorouter.pairs', { count: measured.pairs });
  const share = totals.requests === 0 ? null : totals.away / totals.requests;
  const words = (label: string, value: string, note: string): TileModel => ({
    label,
    figure: { kind: 'text', value },
    note,
  });
  const sticky = totals.stickyKept + totals.stickyBroken;
  return [
    { label: text('decisions'), figure: { kind: 'number', value: totals.requests } },
    { label: text('away'), figure: { kind: 'percent', value: share } },
    words(
      text('measured-quality'),
      measured.quality === null ? few : pointsText(measured.quality, looks),
      `${text('measured')} · ${pairs}`,
    ),
    words(
      text('measured-cost'),
      measured.costRatio === null ? few : changeText(measured.costRatio, looks),
      `${text('measured')} · ${pairs}`,
    ),
    words(
      text('estimated-cost'),
      totals.estimatedCostRatio === null ? few : changeText(totals.estimatedCostRatio, looks),
      text('estimate'),
    ),
    words(
      text('measured-latency'),
      measured.latencyMs === null
        ? few
        : `${millisecondsText(measured.latencyMs.p50, looks)} / ${millisecondsText(measured.latencyMs.p95, looks)}`,
      `p50 / p95 · ${text('measured')}`,
    ),
    { label: text('failovers'), figure: { kind: 'number', value: totals.failovers } },
    words(
      text('sticky'),
      sticky === 0 ? '–' : `${totals.stickyKept} / ${totals.stickyBroken}`,
      text('sticky-note'),
    ),
    ...(evaluationSpend === null
      ? []
      : [
          {
            label: text('evaluation-spend'),
            figure: { kind: 'cost', value: evaluationSpend } as const,
            note: text('evaluation-note'),
          },
        ]),
  ];
}

const pointsText = (interval: Interval, looks: Looks): string => intervalText(interval, looks, true);

const millisecondsText = (value: number, { locale }: Looks): string =>
  `${new Intl.NumberFormat(locale, { signDisplay: 'exceptZero', maximumFractionDigits: 0 }).format(value)} ms`;

function shareChart({ byDay, days }: AutorouterFacts, looks: Looks): ChartModel {
  const { translate, locale, timeZone } = looks;
  const names = dayNames(days, Date.now(), timeZone);
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
    whole: true,
  });
}

function calibrationTable({ report }: AutorouterFacts, looks: Looks): TableModel {
  const { translate, locale } = looks;
  const percent = (value: number): Cell => ({
    kind: 'text',
    align: 'end',
    value: new Intl.NumberFormat(locale, { maximumFractionDigits: 1 }).format(value * 100),
  });
  const end = 'end' as const;
  return {
    caption: translate('autorouter.calibration'),
    columns: [
      { label: translate('autorouter.predicted'), align: end },
      { label: translate('autorouter.observed'), align: end },
      { label: translate('qualitative.answers'), align: end },
    ],
    rows: (report?.calibration.bins ?? []).map(({ predicted, observed, count }) => ({
      cells: [percent(predicted), percent(observed), { kind: 'number', value: count, align: 'end' }],
    })),
    empty: { title: translate('autorouter.calibration-none'), text: translate('qualitative.too-few') },
  };
}

function calibrationNote({ report }: AutorouterFacts, { translate, locale }: Looks): string {
  const { error = null, accuracy = null } = report?.calibration ?? {};
  if (error === null) return translate('qualitative.too-few');
  const percent = (share: number): string =>
    new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 0 }).format(share);
  return translate('autorouter.calibration-note', {
    error: new Intl.NumberFormat(locale, { maximumFractionDigits: 1 }).format(error * 100),
    accuracy: accuracy === null ? translate('qualitative.too-few') : percent(accuracy),
  });
}
