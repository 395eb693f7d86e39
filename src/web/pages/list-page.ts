import type { Scope } from '../../kernel';
import type { Page } from '../../platform';
import {
  type Column,
  type EmptyModel,
  type FieldModel,
  type FilterBarModel,
  filterFields,
  type Link,
  type PagerModel,
  type RowModel,
  type TableModel,
  tableOf,
  type Translate,
} from '../../views';
import { type HttpRequest, pathOf, queryOf } from '../http-request';
import type { FileColumns } from '../routes/csv';
import { actorOf, viewScope } from '../view-scope';

/** It describes one list of the dashboard: what differs from the other ones. */
export interface ListDescription<Row> {
  readonly heading: string;
  /** Period, zone and whose: every figure on the page is of these. */
  readonly scope: string;
  readonly columns: readonly Column<Row>[];
  /** The row leads to an address, and shows more when it is opened. */
  readonly row?: (row: Row) => Omit<RowModel, 'cells'>;
  /** The filters; the address is their only state. */
  readonly fields: readonly FieldModel[];
  /** It is shown while there is nothing at all yet. */
  readonly nothingYet: EmptyModel;
  /** These actions may be begun from here, such as making a new one. */
  readonly actions?: readonly Link[];
  /** It says, for example, how far a search went. */
  readonly note?: string | null;
}

/** The view `views/layouts/list.hbs` shows this; another may add something between filter and table. */
export interface ListPageModel {
  readonly list: {
    readonly heading: string;
    readonly scope: string;
    readonly filter: FilterBarModel;
    readonly table: TableModel;
    readonly pager: PagerModel;
    readonly csvHref: string;
    readonly actions: readonly Link[];
    readonly note?: string;
  };
}

export function listPage<Row>(
  request: HttpRequest,
  page: Page<Row>,
  description: ListDescription<Row>,
  translate: Translate,
): ListPageModel {
  const { heading, scope, columns, fields, row } = description;
  const path = pathOf(request);
  const query = queryOf(request);
  const isFiltered = fields.some(({ name }) => (query.get(name) ?? '') !== '');
  return {
    list: {
      heading,
      scope,
      filter: {
        label: translate('list.filter', { heading }),
        action: path,
        ...filterFields(fields),
        ...(isFiltered ? { clearHref: path } : {}),
      },
      table: tableOf(
        page.rows,
        {
          caption: heading,
          columns,
          ...(row && { row }),
          empty: isFiltered ? filteredToNothing(path, translate) : description.nothingYet,
        },
        translate,
      ),
      pager: {
        label: translate('list.pages', { heading }),
        summary: translate('list.shown', { count: page.rows.length }),
        ...hrefs(path, query, page),
      },
      csvHref: addressOf(`${path}/export`, query, { cursor: null }),
      actions: description.actions ?? [],
      ...(description.note ? { note: description.note } : {}),
    },
  };
}

/** The JSON form of a list: the fields of its file, and the cursors of the pages next to it. */
export const listData = <Row>({ rows, next, previous }: Page<Row>, columns: FileColumns<Row>) => ({
  object: 'list',
  data: rows.map((row) =>
    Object.fromEntries(Object.entries(columns).map(([name, value]) => [name, value(row)])),
  ),
  next_cursor: next,
  previous_cursor: previous,
});

function hrefs<Row>(
  path: string,
  query: URLSearchParams,
  { next, previous }: Page<Row>,
): Pick<PagerModel, 'newerHref' | 'olderHref'> {
  return {
    ...(previous === null ? {} : { newerHref: addressOf(path, query, { cursor: previous }) }),
    ...(next === null ? {} : { olderHref: addressOf(path, query, { cursor: next }) }),
  };
}

const filteredToNothing = (path: string, translate: Translate): EmptyModel => ({
  title: translate('list.no-match-title'),
  text: translate('list.no-match-text'),
  action: { label: translate('filter.clear'), href: path, quiet: true },
});

/** This address with some of its query changed; null takes a parameter away. */
export function addressOf(
  path: string,
  query: URLSearchParams,
  changes: Readonly<Record<string, string | null>>,
): string {
  const changed = new URLSearchParams(query);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) changed.delete(name);
    else changed.set(name, value);
  }
  const search = changed.toString();
  return search === '' ? path : `${path}?${search}`;
}

/** It says in words whose data a page shows; pages of the administration say their `adminScope`. */
export function scopeWords(
  request: HttpRequest,
  translate: Translate,
  scope: Scope = viewScope(request),
): string {
  const { viewing } = request;
  switch (scope.kind) {
    case 'platform':
      return translate('admin.all-organisations');
    case 'organisation':
      return viewing?.adminView?.organisation?.name ?? viewing?.organisationName ?? '';
    case 'department':
      return translate('list.department');
    case 'user':
      return actorOf(request).displayName;
  }
}
