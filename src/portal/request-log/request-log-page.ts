import {
  type LoggedRequest,
  type RequestLogFilter,
  type RequestLogPage,
  statusClasses,
  type UsageChoices,
} from '../../audit';
import type { OrganisationName } from '../../identity';
import type { FieldModel, LinkModel, PeriodPickerModel } from '../../views';
import {
  addressOf,
  type HttpRequest,
  listPage,
  type ListPageModel,
  type Localisation,
  pathOf,
  describePeriod,
  queryOf,
  describeScope,
} from '../../web';
import { dateField } from '../lists/date-field';
import { periodPicker, DEFAULT_DAYS } from '../lists/periods';
import { searchedNote } from '../lists/searched-note';
import { choiceFields } from '../usage/usage-page';
import type { RetentionText } from './retention-text';
import type { ThumbsLookup } from './own-thumbs';
import { columnsOf, detailOf } from './request-row';
import { optionalColumns, type RequestLogPageQuery, selectedColumns } from './request-log.dto';

export interface RequestLogModel extends ListPageModel {
  readonly log: {
    readonly period: PeriodPickerModel;
    readonly columns: readonly (LinkModel & { readonly current: boolean })[];
    /** Null if the page is not in live mode. */
    readonly live: { readonly href: string; readonly stopHref: string } | null;
    readonly liveHref: string;
    readonly note: string | null;
  };
}

export interface RequestLogPageInput {
  readonly request: HttpRequest;
  readonly query: RequestLogPageQuery;
  readonly now: number;
  readonly filter: RequestLogFilter;
  readonly page: RequestLogPage;
  readonly choices: UsageChoices;
  /** Organisations to choose from; empty if the reader sees only one. */
  readonly organisations: readonly OrganisationName[];
  readonly thumbs: ThumbsLookup;
  readonly texts: RetentionText;
  readonly localisation: Localisation;
}

const periods = [1, 7, 30, 90] as const;

export function requestLogPage(input: RequestLogPageInput): RequestLogModel {
  const { request, query, page, thumbs, texts, localisation } = input;
  const { translate } = localisation;
  const model = listPage<LoggedRequest>(
    request,
    page,
    {
      heading: translate('request-log.heading'),
      scope: `${periodText(input)} · ${describeScope(request, translate)}`,
      columns: columnsOf(selectedColumns(query), localisation),
      fields: fieldsOf(input),
      row: (entry) => ({
        detail: detailOf(entry, { request, open: query.open, thumbs, texts, localisation }),
      }),
      nothingYet: {
        title: translate('request-log.nothing-title'),
        text: translate('request-log.nothing-text'),
      },
    },
    translate,
  );
  return {
    list: { ...model.list, filter: { ...model.list.filter, hidden: hiddenOf(query) } },
    log: {
      period: periodPicker(input, periods, 'cursor'),
      columns: columnChooser(input),
      live: query.live === 'on' ? liveOf(request) : null,
      liveHref: addressOf(pathOf(request), queryOf(request), { live: 'on', cursor: null, open: null }),
      note: searchedNote(page.searchedTo, localisation),
    },
  };
}

function periodText({ query, now, filter, localisation }: RequestLogPageInput): string {
  if (filter.from === null || filter.from === undefined) return localisation.timeZone;
  const isRelative = query.from === undefined && query.to === undefined;
  const period = { from: filter.from, to: filter.to ?? new Date(now) };
  return describePeriod(period, localisation, isRelative ? { days: query.days ?? DEFAULT_DAYS } : undefined);
}

function fieldsOf(input: RequestLogPageInput): FieldModel[] {
  const { query, localisation } = input;
  const { translate } = localisation;
  const text = (
    name:
      | 'requested_model'
      | 'code'
      | 'session'
      | 'request_id'
      | 'client_request_id'
      | 'end_user'
      | 'tag'
      | 'min_cost'
      | 'min_latency',
    overrides: Partial<FieldModel> = {},
  ): FieldModel => ({
    id: `filter-${name}`,
    name,
    type: 'search',
    label: translate(`request-log.${name}`),
    value: query[name]?.toString(),
    ...overrides,
  });
  return [
    dateField('from', query.from, translate),
    dateField('to', query.to, translate),
    ...choiceFields(input),
    {
      id: 'filter-status',
      name: 'status',
      type: 'select',
      label: translate('request-log.status'),
      options: [
        { value: '', label: translate('list.all'), selected: query.status === undefined },
        ...statusClasses.map((value) => ({
          value,
          label: translate(`request-log.class.${value}`),
          selected: query.status === value,
        })),
      ],
    },
    text('request_id', { filterKey: true }),
    text('client_request_id', { minor: true }),
    text('requested_model', { minor: true }),
    text('code', { minor: true }),
    text('min_cost', { inputMode: 'decimal', minor: true }),
    text('min_latency', { inputMode: 'numeric', minor: true }),
    text('session', { minor: true }),
    text('end_user', { minor: true }),
    text('tag', { minor: true }),
    {
      id: 'filter-failover',
      name: 'failover',
      type: 'checkbox',
      label: translate('request-log.failover'),
      value: 'yes',
      checked: query.failover === 'yes',
      minor: true,
    },
  ];
}

const hiddenOf = (query: RequestLogPageQuery): { name: string; value: string }[] =>
  (['days', 'zone', 'columns', 'live', 'project', 'user'] as const).flatMap((name) => {
    const value = query[name];
    // The project has a filter field of its own.
    return value === undefined || name === 'project' ? [] : [{ name, value: String(value) }];
  });

function columnChooser({
  request,
  query,
  localisation: { translate },
}: RequestLogPageInput): RequestLogModel['log']['columns'] {
  const selected = selectedColumns(query);
  return optionalColumns.map((name) => {
    const isSelected = selected.includes(name);
    const nextColumns = optionalColumns.filter((other) =>
      other === name ? !isSelected : selected.includes(other),
    );
    return {
      label: translate(isSelected ? 'request-log.column-remove' : 'request-log.column-add', {
        column: translate(`request-log.${name}`),
      }),
      href: addressOf(pathOf(request), queryOf(request), {
        columns: nextColumns.length === 0 ? null : nextColumns.join(','),
      }),
      icon: isSelected ? 'close' : 'plus',
      current: isSelected,
    };
  });
}

const liveOf = (request: HttpRequest): { href: string; stopHref: string } => ({
  href: addressOf(pathOf(request), queryOf(request), { cursor: null, open: null }),
  stopHref: addressOf(pathOf(request), queryOf(request), { live: null }),
});
