import { Injectable } from '@nestjs/common';
import { HOUR_MS } from '../../kernel';
import { Database, Keyset, type Page, type PageRequest } from '../../platform';
import { columns, valueOfRow } from '../record-columns';
import { type RecordScope, withinRecordScope } from '../record-scope';
import type { RequestRecord } from '../request-record';
import { SqlParameters } from '../sql-parameters';
import {
  hourConditions,
  usesHourSearch,
  periodConditions,
  recordConditions,
  type RequestLogFilter,
} from './log-filter';

export interface LoggedRequest extends Omit<RequestRecord, 'settlementId'> {
  readonly settledAt: Date;
  readonly settlementId: string | null;
  readonly keyName: string | null;
  readonly keyKind: string | null;
  readonly keyPublicId: string | null;
  readonly userName: string | null;
}

export interface RequestLogPage extends Page<LoggedRequest> {
  /** Position where the search ran out of time before the page was full; `next` or `previous` continues from there. */
  readonly searchedTo: Date | null;
}

type LoggedRequestRow = Readonly<Record<string, unknown>> & {
  readonly settled_at: Date;
  readonly key_name: string | null;
  readonly key_kind: string | null;
  readonly key_public_id: string | null;
  readonly user_name: string | null;
};

interface MatchingHour {
  readonly hour: Date;
  readonly keys: readonly (string | null)[];
  /** Times of the first and last match; null if they were not recorded. */
  readonly firsts?: readonly (Date | null)[];
  readonly lasts?: readonly (Date | null)[];
  readonly hits: number;
}

interface Search {
  readonly scope: RecordScope;
  readonly filter: RequestLogFilter;
  readonly page: PageRequest;
}

const newestFirst = new Keyset(
  [
    { sql: 'r.created_at', kind: 'instant' },
    { sql: 'r.request_id', kind: 'uuid' },
  ],
  'descending',
);

/** Records searched first, because frequent matches fill a page from them. */
const FIRST_BATCH_SIZE = 500;
const hoursOfRound = (round: number): number => (round === 0 ? 80 : 400);
const MAX_KEYS_PER_READ = 1_000;
const MAX_ROUNDS = 8;
const FIRST_ID = '00000000-0000-0000-0000-000000000000';

/**
 * Request log, newest first, within a scope and any filter. If no index covers the filter, the next records are
 * searched first, then the hours and keys that usage points to.
 */
@Injectable()
export class RequestLogQuery {
  constructor(private readonly database: Database) {}

  async page(scope: RecordScope, filter: RequestLogFilter, page: PageRequest): Promise<RequestLogPage> {
    const search = { scope, filter, page };
    if (!usesHourSearch(filter)) return { ...pageOf(await this.read(search, null), page), searchedTo: null };
    const firstRows = await this.read(search, 'at hand');
    const isFull = firstRows.length >= newestFirst.clause(page, 1).limit;
    return isFull ? { ...pageOf(firstRows, page), searchedTo: null } : this.searchByHours(search);
  }

  private async searchByHours(search: Search): Promise<RequestLogPage> {
    const { page } = search;
    const { orderBy, limit } = newestFirst.clause(page, 1);
    const isDescending = orderBy.endsWith('DESC');
    const rows: LoggedRequestRow[] = [];
    let after: Date | null = null;
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      const maxHours = hoursOfRound(round);
      const hours = await this.findHours(search, isDescending, after, maxHours);
      const batch = takeEnough(hours, limit - rows.length);
      if (batch.length > 0) rows.push(...(await this.read(search, batch)));
      after = batch.at(-1)?.hour ?? after;
      const isLastBatch = batch.length === hours.length && hours.length < maxHours;
      if (isLastBatch || rows.length >= limit)
        return { ...pageOf(rows.slice(0, limit), page), searchedTo: null };
    }
    return partialPage(rows, page, isDescending, after ?? new Date());
  }

  private findHours(
    { scope, filter, page }: Search,
    isDescending: boolean,
    after: Date | null,
    maxHours: number,
  ): Promise<MatchingHour[]> {
    const parameters = new SqlParameters();
    const { table, conditions, places, hits } = hourConditions(filter, parameters);
    conditions.push(withinRecordScope(scope, parameters, 'u'));
    const [startMicros] = newestFirst.clause(page, 1).parameters;
    if (startMicros !== undefined) {
      const hour = parameters.add(new Date(Math.floor(Number(startMicros) / 1_000 / HOUR_MS) * HOUR_MS));
      conditions.push(`u.hour ${isDescending ? '<=' : '>='} ${hour}`);
    }
    if (after !== null) conditions.push(`u.hour ${isDescending ? '<' : '>'} ${parameters.add(after)}`);
    return this.database.query<MatchingHour>(
      `SELECT u.hour, ${places}, ${hits}::integer AS hits
         FROM ${table} u WHERE ${conditions.join(' AND ')}
        GROUP BY u.hour ORDER BY u.hour ${isDescending ? 'DESC' : 'ASC'} LIMIT ${maxHours}`,
      parameters.values,
    );
  }

  private read(
    { scope, filter, page }: Search,
    hours: readonly MatchingHour[] | 'at hand' | null,
  ): Promise<LoggedRequestRow[]> {
    const parameters = new SqlParameters();
    const conditions = recordConditions(filter, parameters);
    const rangeConditions = periodConditions(filter, parameters);
    rangeConditions.push(withinRecordScope(scope, parameters, 'r'));
    const first = newestFirst.clause(page, parameters.values.length + 1);
    const firstValues = first.parameters.map((value) => parameters.add(value));
    if (firstValues.length > 0) rangeConditions.push(first.where);
    conditions.push(...rangeConditions);
    const { orderBy } = first;
    const from =
      hours === 'at hand'
        ? `(SELECT r.* FROM request_record r WHERE ${rangeConditions.join(' AND ')}
             ORDER BY ${orderBy} LIMIT ${FIRST_BATCH_SIZE}) AS r`
        : spanSource(hours, parameters);
    return this.database.query<LoggedRequestRow>(
      `SELECT r.*, k.name AS key_name, k.kind AS key_kind, k.public_id AS key_public_id, coalesce(nullif(u.display_name, ''), u.email) AS user_name
         FROM (SELECT r.*, ${newestFirst.positions} FROM ${from} WHERE ${conditions.join(' AND ')}
                ORDER BY ${orderBy} LIMIT ${parameters.add(first.limit)}) AS r
         LEFT JOIN api_key k ON k.id = r.key_id LEFT JOIN user_account u ON u.id = r.user_id
        ORDER BY ${orderBy}`,
      parameters.values,
    );
  }
}

function spanSource(hours: readonly MatchingHour[] | null, parameters: SqlParameters): string {
  if (hours === null) return 'request_record r';
  const spans = hours.flatMap(spansOf);
  const list = (valueOf: (span: KeySpan) => unknown, type: string): string =>
    `${parameters.add(spans.map(valueOf))}::${type}[]`;
  const inSpan = 'o.created_at >= place.begins AND o.created_at < place.ends';
  return `unnest(${list(({ key }) => key, 'bigint')}, ${list(({ begins }) => new Date(begins), 'timestamptz')},
                 ${list(({ ends }) => new Date(ends), 'timestamptz')}) AS place (key_id, begins, ends)
    CROSS JOIN LATERAL (
      SELECT * FROM request_record o WHERE o.key_id = place.key_id AND ${inSpan}
      UNION ALL
      SELECT * FROM request_record o WHERE place.key_id IS NULL AND o.key_id IS NULL AND ${inSpan}) AS r`;
}

interface KeySpan {
  readonly key: string | null;
  /** Both in milliseconds; the end is exclusive. */
  readonly begins: number;
  readonly ends: number;
}

/** Returns one span per key: from its first match to its last, or the complete hour. Dates are cut to milliseconds. */
function spansOf({ hour, keys, firsts = [], lasts = [] }: MatchingHour): KeySpan[] {
  const hourBegins = hour.getTime();
  const hourEnds = hourBegins + HOUR_MS;
  const spans = new Map<string | null, KeySpan>();
  for (const [index, key] of keys.entries()) {
    const begins = firsts[index]?.getTime() ?? hourBegins;
    const ends = Math.min((lasts[index]?.getTime() ?? hourEnds) + 1, hourEnds);
    const existing = spans.get(key) ?? { begins, ends };
    spans.set(key, { key, begins: Math.min(begins, existing.begins), ends: Math.max(ends, existing.ends) });
  }
  return [...spans.values()];
}

function takeEnough(hours: readonly MatchingHour[], wantedRows: number): readonly MatchingHour[] {
  let hits = 0;
  let keys = 0;
  const lastIndex = hours.findIndex((hour) => {
    hits += hour.hits;
    keys += hour.keys.length;
    return hits >= wantedRows || keys >= MAX_KEYS_PER_READ;
  });
  return lastIndex === -1 ? hours : hours.slice(0, lastIndex + 1);
}

function pageOf(rows: readonly LoggedRequestRow[], page: PageRequest): Page<LoggedRequest> {
  const result = newestFirst.page(rows, page);
  return { ...result, rows: result.rows.map(requestOf) };
}

/** A page that is not full although more may exist: its cursor is at the edge of the searched span. */
function partialPage(
  rows: readonly LoggedRequestRow[],
  page: PageRequest,
  isDescending: boolean,
  hour: Date,
): RequestLogPage {
  const edge = isDescending ? hour : new Date(hour.getTime() + HOUR_MS);
  const cursor = newestFirst.cursorAt(isDescending ? 'next' : 'previous', [
    String(edge.getTime() * 1_000),
    FIRST_ID,
  ]);
  const result = pageOf(rows, page);
  return { ...result, ...(isDescending ? { next: cursor } : { previous: cursor }), searchedTo: edge };
}

function requestOf(row: LoggedRequestRow): LoggedRequest {
  const fields = columns.map((column) => [column.field, valueOfRow(column, row)]);
  return {
    ...(Object.fromEntries(fields) as Omit<RequestRecord, 'settlementId'>),
    settledAt: row.settled_at,
    settlementId: row.settlement_id as string | null,
    keyName: row.key_name,
    keyKind: row.key_kind,
    keyPublicId: row.key_public_id,
    userName: row.user_name,
  };
}
