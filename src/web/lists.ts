import { integerField } from '../kernel';
import type { Page, PageRequest } from '../platform';

export interface PageSizes {
  readonly defaultSize: number;
  readonly maxSize: number;
}

export const pageRequestOf = (query: URLSearchParams, { defaultSize, maxSize }: PageSizes): PageRequest => ({
  limit: integerField(query.get('limit') ?? defaultSize, 'limit', 1, maxSize),
  cursor: query.get('cursor'),
});

export const presentPage = <Row>(
  { rows, next, previous }: Page<Row>,
  present: (row: Row) => object,
  idOf: (row: Row) => string,
) => ({
  object: 'list',
  data: rows.map(present),
  has_more: next !== null,
  first_id: rows[0] === undefined ? null : idOf(rows[0]),
  last_id: rows.length === 0 ? null : idOf(rows.at(-1) as Row),
  next_cursor: next,
  previous_cursor: previous,
});
