import type { Scope } from '../../kernel';
import type { Page } from '../../platform';
import {
  type TableColumn,
  type EmptyModel,
  type FieldModel,
  type FilterBarModel,
  filterFields,
  type LinkModel,
  type PagerModel,
  type RowModel,
  type TableModel,
  tableOf,
  type Translate,
} from '../../views';
import { type HttpRequest, pathOf, queryOf } from '../http-request';
import type { CsvColumns } from '../routes/csv';
import { actorOf, viewScope } from '../view-scope';

export interface ListDescription<Row> {
  readonly heading: string;
  /** Period, time zone and owner of every figure on the page. */
  readonly scope: string;
  readonly columns: readonly TableColumn<Row>[];
  readonly row?: (row: Row) => Omit<RowModel, 'cells'>;
  /** Filters; the address is their only state. */
  readonly fields: readonly FieldModel[];
  readonly nothingYet: EmptyModel;
  readonly actions?: readonly LinkModel[];
  readonly note?: string | null;
}

/** View model of `views/layouts/list.hbs`. */
export interface ListPageModel {
  readonly list: {
    readonly heading: string;
    readonly scope: string;
    readonly filter: FilterBarModel;
    readonly table: TableModel;
    readonly pager: PagerModel;
    readonly csvHref: string;
    readonly actions: readonly LinkModel[];
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
          empty: isFiltered ? noMatchModel(path, translate) : description.nothingYet,
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

export const listData = <Row>({ rows, next, previous }: Page<Row>, columns: CsvColumns<Row>) => ({
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

const noMatchModel = (path: string, translate: Translate): EmptyModel => ({
  title: translate('list.no-match-title'),
  text: translate('list.no-match-text'),
  action: { label: translate('filter.clear'), href: path, quiet: true },
});

/** Returns the address with changed query parameters; null removes a parameter. */
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

/** Describes whose data a page shows; administration pages pass their `adminScope`. */
export function describeScope(
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
