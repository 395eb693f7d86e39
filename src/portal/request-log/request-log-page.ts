import {
  type LoggedRequest,
  type RequestLogFilter,
  type RequestLogPage,
  statusClasses,
  type UsageChoices,
} from '../../audit';
import type { OrganisationName } from '../../identity';
import { type FieldModel, type Link, type PeriodPickerModel } from '../../views';
import {
  addressOf,
  type HttpRequest,
  listPage,
  type ListPageModel,
  type Localisation,
  pathOf,
  periodWords,
  queryOf,
  scopeWords,
} from '../../web';
import { dateField } from '../lists/date-field';
import { periodPicker, USUAL_DAYS } from '../lists/periods';
import { searchedNote } from '../lists/searched-note';
import { choiceFields } from '../usage/usage-page';
import type { KeptTexts } from './kept-texts';
import type { Thumbs } from './own-thumbs';
import { columnsOf, detailOf } from './request-row';
import { optionalColumns, type RequestLogPageQuery, shownColumns } from './request-log.form';

export interface RequestLogModel extends ListPageModel {
  readonly log: {
    readonly period: PeriodPickerModel;
    readonly columns: readonly (Link & { readonly current: boolean })[];
    /** It is null where the page is not followed live. */
    readonly live: { readonly href: string; readonly stopHref: string } | null;
    readonly liveHref: string;
    readonly note: string | null;
  };
}

export interface LogFacts {
  readonly request: HttpRequest;
  readonly query: RequestLogPageQuery;
  readonly now: number;
  readonly filter: RequestLogFilter;
  readonly page: RequestLogPage;
  readonly choices: UsageChoices;
  /** They are the choice; empty where one sees a single one. */
  readonly organisations: readonly OrganisationName[];
  readonly thumbs: Thumbs;
  readonly texts: KeptTexts;
  readonly localisation: Localisation;
}

const periods = [1, 7, 30, 90] as const;

export function requestLogPage(facts: LogFacts): RequestLogModel {
  const { request, query, page, thumbs, texts, localisation } = facts;
  const { translate } = localisation;
  const model = listPage<LoggedRequest>(
    request,
    page,
    {
      heading: translate('request-log.heading'),
      scope: `${periodWordsOf(facts)} · ${scopeWords(request, translate)}`,
      columns: columnsOf(shownColumns(query), localisation),
      fields: fieldsOf(facts),
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
      period: periodPicker(facts, periods, 'cursor'),
      columns: chooserOf(facts),
      live: query.live === 'on' ? liveOf(request) : null,
      liveHref: addressOf(pathOf(request), queryOf(request), { live: 'on', cursor: null, open: null }),
      note: searchedNote(page.searchedTo, localisation),
    },
  };
}

function periodWordsOf({ query, now, filter, localisation }: LogFacts): string {
  if (filter.from === null || filter.from === undefined) return localisation.timeZone;
  const isNamed = query.from === undefined && query.to === undefined;
  const period = { from: filter.from, to: filter.to ?? new Date(now) };
  return periodWords(period, localisation, isNamed ? { days: query.days ?? USUAL_DAYS } : undefined);
}

function fieldsOf(facts: LogFacts): FieldModel[] {
  const { query, localisation } = facts;
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
    more: Partial<FieldModel> = {},
  ): FieldModel => ({
    id: `filter-${name}`,
    name,
    type: 'search',
    label: translate(`request-log.${name}`),
    value: query[name]?.toString(),
    ...more,
  });
  return [
    dateField('from', query.from, translate),
    dateField('to', query.to, translate),
    ...choiceFields(facts),
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
    // A list of projects is a field of its own.
    return value === undefined || name === 'project' ? [] : [{ name, value: String(value) }];
  });

/** Each link shows a column or hides it: the address keeps the choice. */
function chooserOf({
  request,
  query,
  localisation: { translate },
}: LogFacts): RequestLogModel['log']['columns'] {
  const shown = shownColumns(query);
  return optionalColumns.map((name) => {
    const isShown = shown.includes(name);
    const chosen = optionalColumns.filter((other) => (other === name ? !isShown : shown.includes(other)));
    return {
      label: translate(isShown ? 'request-log.column-remove' : 'request-log.column-add', {
        column: translate(`request-log.${name}`),
      }),
      href: addressOf(pathOf(request), queryOf(request), {
        columns: chosen.length === 0 ? null : chosen.join(','),
      }),
      icon: isShown ? 'close' : 'plus',
      current: isShown,
    };
  });
}

const liveOf = (request: HttpRequest): { href: string; stopHref: string } => ({
  href: addressOf(pathOf(request), queryOf(request), { cursor: null, open: null }),
  stopHref: addressOf(pathOf(request), queryOf(request), { live: null }),
});
