import { wholeNumberField } from '../kernel';
import type { Page, PageRequest } from '../platform';

export interface PageSizes {
  readonly usual: number;
  readonly most: number;
}

/** It reads `limit` and `cursor` of a list query. */
export const pageRequestOf = (query: URLSearchParams, { usual, most }: PageSizes): PageRequest => ({
  limit: wholeNumberField(query.get('limit') ?? usual, 'limit', 1, most),
  cursor: query.get('cursor'),
});

/** A page as the programming interface answers it. */
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
