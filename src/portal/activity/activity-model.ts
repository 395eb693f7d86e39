import {
  type ActivityDays,
  type ActivityEntry,
  type Changes,
  actionText,
  objectTextKey,
  objectTypes,
} from '../../audit';
import { daysOf, type Period } from '../../kernel';
import {
  barChart,
  type ChartModel,
  column,
  type FieldModel,
  formatNumber,
  formatTime,
  type LabelledFigure,
  type RowDetail,
  type Translate,
} from '../../views';
import {
  addressOf,
  type HttpRequest,
  type ListDescription,
  type Localisation,
  pathOf,
  describePeriod,
  queryOf,
  describeScope,
} from '../../web';
import { dayLabels } from '../lists/day-labels';
import { daysField } from '../lists/periods';
import { visibleAddress } from './activity-csv';
import { type ActivityPageQuery, periods } from './activity.dto';

export function activityList(
  request: HttpRequest,
  query: ActivityPageQuery,
  period: Period,
  localisation: Localisation,
): ListDescription<ActivityEntry> {
  const { translate } = localisation;
  return {
    heading: translate('activity.page.heading'),
    scope: `${describePeriod(period, localisation, { days: query.days })} · ${describeScope(request, translate)}`,
    columns: [
      column('activity.page.time', 'time', ({ occurredAt }) => occurredAt),
      column('activity.page.what', 'text', ({ action }) => actionText(action, translate), 'heading'),
      column(
        'activity.page.object',
        'text',
        ({ object: { id, label, type } }) => label ?? id ?? translate(objectTextKey(type)),
      ),
      column('activity.page.who', 'text', ({ actor }) => actor.label, 'minor'),
    ],
    fields: fieldsOf(query, translate),
    row: (entry) => ({ detail: detailOf(entry, request, query, translate) }),
    nothingYet: {
      title: translate('activity.page.nothing-title'),
      text: translate('activity.page.nothing-text'),
    },
  };
}

function fieldsOf(query: ActivityPageQuery, translate: Translate): FieldModel[] {
  return [
    daysField(periods, query.days, translate),
    {
      id: 'filter-type',
      name: 'type',
      type: 'select',
      label: translate('activity.page.object'),
      options: [
        { value: '', label: translate('list.all'), selected: !query.type },
        ...objectTypes.map((type) => ({
          value: type,
          label: translate(objectTextKey(type)),
          selected: query.type === type,
        })),
      ],
    },
    {
      id: 'filter-text',
      name: 'q',
      type: 'search',
      label: translate('activity.page.search'),
      value: query.q,
      filterKey: true,
    },
  ];
}

const detailOf = (
  entry: ActivityEntry,
  request: HttpRequest,
  { open }: ActivityPageQuery,
  translate: Translate,
): RowDetail => ({
  id: `entry-${entry.id}`,
  name: actionText(entry.action, translate),
  href: `${addressOf(pathOf(request), queryOf(request), { open: entry.id })}#entry-${entry.id}`,
  open: open === entry.id,
  items: detailsOf(entry, request, translate),
});

function detailsOf(entry: ActivityEntry, request: HttpRequest, translate: Translate): LabelledFigure[] {
  const address = visibleAddress(request, entry);
  const text = (key: string, value: string | null): LabelledFigure[] =>
    value === null ? [] : [{ label: translate(key), figure: { kind: 'text', value } }];
  return [
    ...text('activity.page.who', entry.actor.label),
    ...text('activity.page.reason', entry.reason),
    ...changeItems(entry.changes ?? {}),
    ...text('activity.page.address', address),
    ...(entry.requestId === null
      ? []
      : [
          {
            label: translate('activity.page.request'),
            figure: { kind: 'copy', value: entry.requestId } as const,
          },
        ]),
  ];
}

const changeItems = (changes: Changes): LabelledFigure[] =>
  Object.entries(changes).map(([name, [before, after]]) => ({
    label: name,
    figure: { kind: 'text', value: `${displayValue(before)} → ${displayValue(after)}` },
  }));

const displayValue = (value: unknown): string =>
  value === null ? '–' : typeof value === 'string' ? value : JSON.stringify(value);

export function dayChart(
  { days: dayCounts, countedTo }: ActivityDays,
  period: Period,
  { locale, timeZone, translate }: Localisation,
): { days: ChartModel; daysNote: string | null } {
  const counts = new Map(dayCounts.map(({ day, count }) => [day, count]));
  const names = daysOf(period, timeZone);
  return {
    days: barChart({
      title: translate('activity.page.days'),
      labels: dayLabels(names, { locale }),
      series: [
        { name: translate('activity.page.entries'), values: names.map((name) => counts.get(name) ?? 0) },
      ],
      format: (value) => formatNumber(locale, value),
      totalLabel: translate('list.total'),
      pointLabel: translate('activity.page.day'),
      isCount: true,
    }),
    daysNote:
      countedTo === null
        ? null
        : translate('activity.page.counted-to', { time: formatTime(locale, timeZone, countedTo, 'minute') }),
  };
}
