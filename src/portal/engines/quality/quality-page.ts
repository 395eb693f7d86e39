import type { Period } from '../../../kernel';
import type { Page } from '../../../platform';
import type { SampledShare, ScoreRow } from '../../../quality';
import {
  type BadgeModel,
  type BannerModel,
  column,
  type FieldModel,
  type Figure,
  formatNumber,
  type LabelledFigure,
  mixedColumn,
  type RowDetail,
  type Translate,
} from '../../../views';
import {
  addressOf,
  type HttpRequest,
  type ListDescription,
  listPage,
  type ListPageModel,
  type Localisation,
  pathOf,
  describePeriod,
  queryOf,
  describeScope,
} from '../../../web';
import { decimalText } from '../autorouter-text';
import { daysField } from '../../lists/periods';
import { periods, type QualitativeQuery, roles, verdicts } from './qualitative.dto';

export interface QualityPageInput {
  readonly request: HttpRequest;
  readonly query: QualitativeQuery;
  readonly period: Period;
  readonly page: Page<ScoreRow>;
  readonly share: SampledShare;
  readonly choices: {
    readonly models: readonly string[];
    readonly buckets: readonly string[];
    readonly simulated: boolean;
  };
  readonly localisation: Localisation;
}

export interface QualityPageModel extends ListPageModel {
  readonly shareText: string;
  readonly simulated: BannerModel | null;
}

export function qualityPage(input: QualityPageInput): QualityPageModel {
  const { request, page, share, choices, localisation } = input;
  const { translate, locale } = localisation;
  const percent = share.requests === 0 ? 0 : (share.scored / share.requests) * 100;
  return {
    ...listPage(request, page, describeList(input), translate),
    shareText: translate('qualitative.share', {
      scored: formatNumber(locale, share.scored),
      requests: formatNumber(locale, share.requests),
      percent: new Intl.NumberFormat(locale, { maximumFractionDigits: 1 }).format(percent),
    }),
    simulated: choices.simulated ? simulatedBanner(translate) : null,
  };
}

export const simulatedBanner = (translate: Translate): BannerModel => ({
  tone: 'warn',
  title: translate('qualitative.simulated-title'),
  text: translate('qualitative.simulated-text'),
});

function describeList({
  request,
  query,
  period,
  choices,
  localisation,
}: QualityPageInput): ListDescription<ScoreRow> {
  const { translate } = localisation;
  const text = (name: string): string => translate(`qualitative.${name}`);
  return {
    heading: translate('navigation.quality'),
    scope: `${describePeriod(period, localisation, { days: query.days })} · ${describeScope(request, translate)}`,
    columns: [
      column('requests.time', 'time', (row) => row.created_at),
      column('requests.model', 'text', ({ model }) => model, 'heading'),
      column('qualitative.role', 'text', ({ role }) => text(`roles.${role}`), 'minor'),
      column('qualitative.bucket', 'text', ({ bucket }) => bucket, 'minor'),
      mixedColumn('qualitative.score', (row) => scoreFigure(row, localisation), 'end'),
      column('qualitative.preference', 'text', (row) => preferenceText(row, translate), 'minor'),
    ],
    fields: fieldsOf(query, choices, translate),
    row: (row) => ({ detail: scoreDetail(row, request, query, translate) }),
    nothingYet: { title: text('none-title'), text: text('none-text') },
  };
}

function fieldsOf(
  query: QualitativeQuery,
  { models, buckets }: QualityPageInput['choices'],
  translate: Translate,
): FieldModel[] {
  const select = (
    name: 'model' | 'role' | 'verdict' | 'bucket',
    values: readonly string[],
    labelOf: (value: string) => string = (value) => value,
  ): FieldModel => ({
    id: `filter-${name}`,
    name,
    type: 'select',
    label: name === 'model' ? translate('requests.model') : translate(`qualitative.${name}`),
    options: [
      { value: '', label: translate('list.all'), selected: query[name] === undefined },
      ...values.map((value) => ({ value, label: labelOf(value), selected: query[name] === value })),
    ],
  });
  return [
    daysField(periods, query.days, translate),
    select('model', models),
    select('role', roles, (role) => translate(`qualitative.roles.${role}`)),
    select('verdict', verdicts, (verdict) => translate(`qualitative.verdicts.${verdict}`)),
    select('bucket', buckets),
  ];
}

const scoreDetail = (
  row: ScoreRow,
  request: HttpRequest,
  { open }: QualitativeQuery,
  translate: Translate,
): RowDetail => ({
  id: `score-${row.id}`,
  name: `${row.model} · ${row.bucket}`,
  href: `${addressOf(pathOf(request), queryOf(request), { open: row.id })}#score-${row.id}`,
  open: open === row.id,
  items: scoreFigures(row, translate),
});

function scoreFigure({ score_total: total, verdict }: ScoreRow, localisation: Localisation): Figure {
  const { translate } = localisation;
  if (total !== null) return { kind: 'text', value: decimalText(total, localisation) };
  const badge: BadgeModel =
    verdict === null
      ? { tone: 'neutral', label: translate('qualitative.pending') }
      : {
          tone: verdict === 'unjudgeable' ? 'neutral' : 'warn',
          label: translate(`qualitative.verdicts.${verdict}`),
        };
  return { kind: 'badge', value: badge };
}

const preferenceText = ({ pair_preference: preference }: ScoreRow, translate: Translate): string =>
  preference === null ? '–' : translate(`qualitative.preferences.${preference}`);

/** Describes a signal; an unknown one from a newer node is shown as it is. */
function flagText(flag: string, translate: Translate): string {
  const key = `qualitative.signals.${flag}`;
  const text = translate(key);
  return text === key ? flag : text;
}

function scoreFigures(row: ScoreRow, translate: Translate): LabelledFigure[] {
  const text = (name: string): string => translate(`qualitative.${name}`);
  const parts = Object.entries(row.scores ?? {}).map(([part, score]): LabelledFigure => ({
    label: text(`parts.${part}`),
    figure: { kind: 'number', value: score },
  }));
  const redactions = Object.entries(row.redactions).map(([kind, count]) => `${kind} ${count}`);
  const optionalText = (label: string, value: string | null): LabelledFigure[] =>
    value === null || value === '' ? [] : [{ label, figure: { kind: 'text', value } }];
  return [
    ...parts,
    ...optionalText(
      text('judge'),
      row.judge_model === null ? null : `${row.judge_model} · ${row.judge_version}`,
    ),
    ...(row.self_family ? optionalText(text('self-family'), text('self-family-text')) : []),
    ...optionalText(text('flags'), row.objective_flags.map((flag) => flagText(flag, translate)).join(', ')),
    ...optionalText(text('redactions'), redactions.join(', ')),
    { label: translate('requests.cost'), figure: { kind: 'cost', value: BigInt(row.cost_nano) } },
    { label: text('judge-cost'), figure: { kind: 'cost', value: BigInt(row.judge_cost_nano) } },
    { label: translate('requests.latency'), figure: { kind: 'latency', value: row.latency_ms } },
    {
      label: text('sampled-by'),
      figure: { kind: 'text', value: `${row.sampled_by} · ${row.inclusion_prob}` },
    },
    {
      label: translate('activity.page.request'),
      figure: {
        kind: 'link',
        value: row.request_id,
        href: `/dashboard/request-log?request_id=${row.request_id}&open=${row.request_id}`,
      },
    },
    {
      label: text('detail'),
      figure: {
        kind: 'link',
        value: 'JSON',
        href: `/dashboard/qualitative/detail/${row.request_id}?model=${encodeURIComponent(row.model)}`,
      },
    },
  ];
}
