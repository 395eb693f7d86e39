import type { Interval } from '../../../kernel';
import type { ModelReport, QualityReport, ScoredAnswer } from '../../../quality';
import {
  type BannerModel,
  type ChartModel,
  column,
  formatNumber,
  type LabelledFigure,
  lineChart,
  type TableModel,
  tableOf,
} from '../../../views';
import type { Localisation } from '../../../web';
import { decimalText, intervalColumn, intervalText, pointsText, shareIntervalText } from '../autorouter-text';

export interface ReportCard {
  readonly id: string;
  readonly heading: string;
  readonly table: TableModel;
  /** Trend of one judge version; versions are not comparable. */
  readonly trend: ChartModel | null;
  readonly facts: readonly LabelledFigure[];
}

/** Builds one report per judge version. */
export function reportModels(
  reports: readonly QualityReport[],
  scored: readonly ScoredAnswer[],
  localisation: Localisation,
): { reports: readonly ReportCard[]; versionsNote: BannerModel | null } {
  const { translate } = localisation;
  const note: BannerModel = {
    tone: 'info',
    title: translate('qualitative.versions-title'),
    text: translate('qualitative.versions-text', { count: reports.length }),
  };
  return {
    reports: scored.length === 0 ? [] : reports.map((report) => reportCard(report, localisation)),
    versionsNote: reports.length > 1 ? note : null,
  };
}

function reportCard(report: QualityReport, localisation: Localisation): ReportCard {
  const { translate } = localisation;
  return {
    id: `report-${report.judgeVersion}`,
    heading: translate('qualitative.report', { version: report.judgeVersion }),
    table: reportTable(report, localisation),
    trend: trendChart(report, localisation),
    facts: calibrationFigures(report, localisation),
  };
}

function reportTable(
  { models, reference, judgeVersion }: QualityReport,
  localisation: Localisation,
): TableModel {
  const { translate, locale } = localisation;
  const text = (name: string): string => translate(`qualitative.${name}`);
  const tooFew = text('too-few');
  const differenceText = ({ difference }: ModelReport): string =>
    difference === null
      ? tooFew
      : `${intervalText(difference, localisation, true)}${difference.isSignificant ? ' *' : ''} (${formatNumber(locale, difference.pairs)})`;
  return tableOf(
    models,
    {
      // Captions name regions of the page, so each report needs its own.
      caption: translate('qualitative.report', { version: judgeVersion }),
      columns: [
        column('requests.model', 'text', ({ model }) => model),
        intervalColumn('qualitative.mean', ({ mean }) => mean, intervalText, localisation),
        column('qualitative.answers', 'number', ({ count }) => count),
        column(
          'qualitative.difference',
          'text',
          (report) => (report.model === reference ? text('reference') : differenceText(report)),
          'end',
        ),
        column(
          'qualitative.length-controlled',
          'text',
          ({ difference }) => lengthText(difference?.lengthControlled ?? null, localisation),
          'end',
          'minor',
        ),
        column(
          'qualitative.outcomes',
          'text',
          ({ wins, ties, losses }) => (wins + ties + losses === 0 ? '–' : `${wins} / ${ties} / ${losses}`),
          'end',
          'minor',
        ),
      ],
      empty: { title: text('none-title'), text: text('none-text') },
    },
    translate,
  );
}

const lengthText = (difference: Interval | null, localisation: Localisation): string =>
  difference === null ? '–' : intervalText(difference, localisation, true);

function trendChart({ trend }: QualityReport, localisation: Localisation): ChartModel | null {
  if (trend.length < 2) return null;
  const { translate } = localisation;
  const day = new Intl.DateTimeFormat(localisation.locale, {
    timeZone: 'UTC',
    day: 'numeric',
    month: 'short',
  });
  const line = (name: string, boundOf: (interval: Interval) => number) => ({
    name: translate(`qualitative.${name}`),
    values: trend.map(({ mean }) => Math.max(0, boundOf(mean))),
  });
  return lineChart({
    title: translate('qualitative.trend'),
    labels: trend.map(({ week }) => day.format(new Date(`${week}T00:00:00Z`))),
    series: [
      line('mean-alone', ({ value }) => value),
      line('low', ({ low }) => low),
      line('high', ({ high }) => high),
    ],
    format: (value) => decimalText(value, localisation),
    totalLabel: null,
    pointLabel: translate('qualitative.week'),
  });
}

function calibrationFigures({ calibration }: QualityReport, localisation: Localisation): LabelledFigure[] {
  const { translate } = localisation;
  const { accuracy, compared, error } = calibration;
  const tooFew = translate('qualitative.too-few');
  return [
    {
      label: translate('qualitative.accuracy', { count: compared }),
      figure: { kind: 'text', value: accuracy === null ? tooFew : shareIntervalText(accuracy, localisation) },
    },
    {
      label: translate('qualitative.calibration-error'),
      figure: { kind: 'text', value: error === null ? tooFew : pointsText(error, localisation) },
    },
  ];
}
