import { versionOf } from '../../kernel';
import type { ManagedKey } from '../../keys';
import type { AutoSettings } from '../../autorouter';
import {
  type BannerModel,
  type ChartModel,
  column,
  type FieldModel,
  formatNumber,
  type PeriodPickerModel,
  type ScatterModel,
  type TableModel,
  tableOf,
  type TileModel,
  type Translate,
} from '../../views';
import { type HttpRequest, type Localisation, describePeriod, describeScope } from '../../web';
import { qualityPlot, shareChart, trendChart } from './autorouter-charts';
import type { AutorouterData } from './autorouter-data';
import { autoSettingsFields } from './autorouter-fields';
import { bucketTable, decisionTable, exclusionTable, modelTable, reasonTable } from './autorouter-tables';
import { autorouterTiles } from './autorouter-tiles';
import { candidateTable, dialTable } from './dial-table';
import { decimalText, intervalColumn, pointsText, shareIntervalText } from './autorouter-text';
import { periodPicker } from '../lists/periods';
import { simulatedBanner } from './quality/quality-page';

const dayChoices = [7, 30, 90] as const;

export interface AutorouterPageInput {
  readonly request: HttpRequest;
  readonly facts: AutorouterData;
  readonly settings: {
    readonly own: AutoSettings;
    readonly keys: readonly ManagedKey[];
    readonly open: { readonly key: ManagedKey; readonly own: AutoSettings } | null;
    readonly models: readonly string[];
  };
  readonly localisation: Localisation;
}

export interface AutorouterPageModel {
  readonly scope: string;
  readonly periods: PeriodPickerModel;
  readonly state: BannerModel;
  readonly changedTraffic: BannerModel | null;
  /** Set if the organisation does not let the reader see scores. */
  readonly withoutScores: BannerModel | null;
  /** False if the reader cannot see scores; the cards are then omitted. */
  readonly hasScores: boolean;
  readonly simulated: BannerModel | null;
  readonly earlierJudge: BannerModel | null;
  readonly tiles: readonly TileModel[];
  readonly plot: ScatterModel | null;
  readonly plotNote: string | null;
  readonly candidates: TableModel;
  readonly dials: TableModel;
  readonly chart: ChartModel | null;
  readonly trend: ChartModel | null;
  readonly models: TableModel;
  readonly buckets: TableModel;
  readonly decisions: TableModel;
  readonly reasons: TableModel;
  readonly exclusions: TableModel;
  readonly calibration: TableModel;
  readonly calibrationNote: string;
  readonly user: { readonly version: string; readonly fields: readonly FieldModel[] };
  readonly days: number;
  readonly key: {
    readonly id: number;
    readonly name: string;
    readonly version: string;
    readonly choice: FieldModel;
    readonly fields: readonly FieldModel[];
  } | null;
}

export function autorouterPage({
  request,
  facts,
  settings,
  localisation,
}: AutorouterPageInput): AutorouterPageModel {
  const { translate } = localisation;
  const { days, period } = facts;
  const plot = qualityPlot(facts, localisation);
  return {
    scope: `${describePeriod(period, localisation, { days })} · ${describeScope(request, translate)}`,
    periods: periodPicker({ request, query: { days }, localisation }, dayChoices),
    state: stateBanner(facts, localisation),
    changedTraffic: trafficBanner(facts, localisation),
    withoutScores: noScoresBanner(facts, localisation),
    hasScores: facts.quality !== 'closed',
    simulated: facts.isSimulated ? simulatedBanner(translate) : null,
    earlierJudge: facts.isOfEarlierJudge
      ? {
          tone: 'info',
          title: translate('qualitative.versions-title'),
          text: translate('autorouter.earlier-judge', { version: facts.report?.judgeVersion }),
        }
      : null,
    tiles: autorouterTiles(facts, localisation),
    plot,
    plotNote: plot === null ? translate('autorouter.plot-none') : null,
    candidates: candidateTable(facts, localisation),
    dials: dialTable(facts, localisation),
    chart: shareChart(facts, localisation),
    trend: trendChart(facts, localisation),
    models: modelTable(facts, localisation),
    buckets: bucketTable(facts, localisation),
    decisions: decisionTable(facts, localisation),
    reasons: reasonTable(facts, localisation),
    exclusions: exclusionTable(facts, localisation),
    calibration: calibrationTable(facts, localisation),
    calibrationNote: calibrationNote(facts, localisation),
    user: {
      version: versionOf(settings.own),
      fields: autoSettingsFields('user', settings.own, settings.models, translate),
    },
    days,
    key: keyForm(settings, translate),
  };
}

function keyForm(
  { keys, open, models }: AutorouterPageInput['settings'],
  translate: Translate,
): AutorouterPageModel['key'] {
  if (open === null) return null;
  const listedKeys = keys.some(({ id }) => id === open.key.id) ? keys : [open.key, ...keys];
  return {
    id: open.key.id,
    name: open.key.name,
    version: versionOf(open.own),
    choice: {
      id: 'open-key',
      name: 'key',
      type: 'select',
      label: translate('autorouter.key'),
      options: listedKeys.map(({ id, name }) => ({
        value: String(id),
        label: name,
        selected: id === open.key.id,
      })),
    },
    fields: autoSettingsFields('key', open.own, models, translate),
  };
}

function stateBanner({ policy, learning }: AutorouterData, { translate, locale }: Localisation): BannerModel {
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

function trafficBanner({ policy, latest }: AutorouterData, { translate }: Localisation): BannerModel | null {
  const changed = latest.filter(({ drift }) => drift !== 'calm').length;
  if (policy.mode === 'off' || changed * 2 <= latest.length) return null;
  return {
    tone: 'warn',
    title: translate('autorouter.state-changed'),
    text: translate('autorouter.state-changed-text'),
  };
}

const noScoresBanner = ({ quality }: AutorouterData, { translate }: Localisation): BannerModel | null =>
  quality === 'open'
    ? null
    : {
        tone: 'neutral',
        title: translate(`qualitative.${quality}-title`),
        text: translate(`qualitative.${quality}-text`),
      };

function calibrationTable({ report }: AutorouterData, localisation: Localisation): TableModel {
  const { translate } = localisation;
  const tooFew = translate('qualitative.too-few');
  return tableOf(
    report?.calibration.bins ?? [],
    {
      caption: translate('autorouter.calibration'),
      columns: [
        column('autorouter.predicted', 'text', ({ predicted }) =>
          predicted === null ? tooFew : decimalText(predicted * 100, localisation),
        ),
        intervalColumn('autorouter.observed', ({ observed }) => observed, pointsText, localisation),
        column('qualitative.answers', 'number', ({ count }) => count),
      ],
      empty: { title: translate('autorouter.calibration-none'), text: translate('qualitative.too-few') },
    },
    translate,
  );
}

function calibrationNote({ report }: AutorouterData, localisation: Localisation): string {
  const { translate } = localisation;
  const { error = null, accuracy = null } = report?.calibration ?? {};
  if (error === null) return translate('qualitative.too-few');
  return translate('autorouter.calibration-note', {
    error: pointsText(error, localisation),
    accuracy:
      accuracy === null ? translate('qualitative.too-few') : shareIntervalText(accuracy, localisation),
  });
}
