import { Injectable } from '@nestjs/common';
import { HOUR_MS } from '../../kernel';
import { Database, Keyset, type Page, type PageRequest } from '../../platform';
import { columns, valueOfRow } from '../record-columns';
import { type RecordScope, withinRecordScope } from '../record-scope';
import type { RequestRecord } from '../request-record';
import { SqlParameters } from '../sql-parameters';
import {
  hourConditions,
  isGuided,
  periodConditions,
  recordConditions,
  type RequestLogFilter,
} from './log-filter';

export interface LoggedRequest extends Omit<RequestRecord, 'settlementId'> {
  /** When the record, and its ledger entry, were written. */
  readonly settledAt: Date;
  readonly settlementId: string | null;
  readonly keyName: string | null;
  readonly keyKind: string | null;
  readonly keyPublicId: string | null;
  readonly userName: string | null;
}

export interface RequestLogPage extends Page<LoggedRequest> {
  /** The position where the search ran out of time before the page was full; it continues with `next` or `previous`. */
  readonly searchedTo: Date | null;
}

type Row = Readonly<Record<string, unknown>> & {
  readonly settled_at: Date;
  readonly key_name: string | null;
  readonly key_kind: string | null;
  readonly key_public_id: string | null;
  readonly user_name: string | null;
};

/** An hour that may contain matches, and the keys they may belong to. */
interface Place {
  readonly hour: Date;
  readonly keys: readonly (string | null)[];
  /** These are the times of the first and last match; null where they were not kept. */
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

/** Frequent matches fill a page from the next records. */
const RECORDS_AT_HAND = 500;
/** Rare matches are searched in many hours at once. */
const hoursOfRound = (round: number): number => (round === 0 ? 80 : 400);
const KEYS_AT_ONCE = 1_000;
const MOST_ROUNDS = 8;
const FIRST_ID = '00000000-0000-0000-0000-000000000000';

/**
 * The log of requests, newest first, within a scope and any filter. Where no index of the records knows a
 * filter, the next few hundred are looked through. When they do not fill the page, the hours of usage tell
 * which hours of which keys to look into.
 */
@Injectable()
export class RequestLogQuery {
  constructor(private readonly database: Database) {}

  async page(scope: RecordScope, filter: RequestLogFilter, page: PageRequest): Promise<RequestLogPage> {
    const search = { scope, filter, page };
    if (!isGuided(filter)) return { ...pageOf(await this.read(search, null), page), searchedTo: null };
    const atHand = await this.read(search, 'at hand');
    const isFull = atHand.length >= newestFirst.clause(page, 1).limit;
    return isFull ? { ...pageOf(atHand, page), searchedTo: null } : this.guided(search);
  }

  private async guided(search: Search): Promise<RequestLogPage> {
    const { page } = search;
    const { orderBy, limit } = newestFirst.clause(page, 1);
    const isDown = orderBy.endsWith('DESC');
    const rows: Row[] = [];
    let after: Date | null = null;
    for (let round = 0; round < MOST_ROUNDS; round += 1) {
      const mostHours = hoursOfRound(round);
      const places = await this.places(search, isDown, after, mostHours);
      const some = enough(places, limit - rows.length);
      if (some.length > 0) rows.push(...(await this.read(search, some)));
      after = some.at(-1)?.hour ?? after;
      const isAll = some.length === places.length && places.length < mostHours;
      if (isAll || rows.length >= limit) return { ...pageOf(rows.slice(0, limit), page), searchedTo: null };
    }
    return brokenOff(rows, page, isDown, after ?? new Date());
  }

  private places(
    { scope, filter, page }: Search,
    isDown: boolean,
    after: Date | null,
    mostHours: number,
  ): Promise<Place[]> {
    const parameters = new SqlParameters();
    const { table, conditions, places, hits } = hourConditions(filter, parameters);
    conditions.push(withinRecordScope(scope, parameters, 'u'));
    const [begin] = newestFirst.clause(page, 1).parameters;
    if (begin !== undefined) {
      const hour = parameters.add(new Date(Math.floor(Number(begin) / 1_000 / HOUR_MS) * HOUR_MS));
      conditions.push(`u.hour ${isDown ? '<=' : '>='} ${hour}`);
    }
    if (after !== null) conditions.push(`u.hour ${isDown ? '<' : '>'} ${parameters.add(after)}`);
    return this.database.query<Place>(
      `SELECT u.hour, ${places}, ${hits}::integer AS hits
         FROM ${table} u WHERE ${conditions.join(' AND ')}
        GROUP BY u.hour ORDER BY u.hour ${isDown ? 'DESC' : 'ASC'} LIMIT ${mostHours}`,
      parameters.values,
    );
  }

  /** It reads from all records, from the next ones, or from places. */
  private read({ scope, filter, page }: Search, places: readonly Place[] | 'at hand' | null): Promise<Row[]> {
    const parameters = new SqlParameters();
    const conditions = recordConditions(filter, parameters);
    const withinBorders = periodConditions(filter, parameters);
    withinBorders.push(withinRecordScope(scope, parameters, 'r'));
    const first = newestFirst.clause(page, parameters.values.length + 1);
    const firstValues = first.parameters.map((value) => parameters.add(value));
    if (firstValues.length > 0) withinBorders.push(first.where);
    conditions.push(...withinBorders);
    const { orderBy } = first;
    const from =
      places === 'at hand'
        ? `(SELECT r.* FROM request_record r WHERE ${withinBorders.join(' AND ')}
             ORDER BY ${orderBy} LIMIT ${RECORDS_AT_HAND}) AS r`
        : placesIn(places, parameters);
    return this.database.query<Row>(
      `SELECT r.*, k.name AS key_name, k.kind AS key_kind, k.public_id AS key_public_id, coalesce(nullif(u.display_name, ''), u.email) AS user_name
         FROM (SELECT r.*, ${newestFirst.positions} FROM ${from} WHERE ${conditions.join(' AND ')}
                ORDER BY ${orderBy} LIMIT ${parameters.add(first.limit)}) AS r
         LEFT JOIN api_key k ON k.id = r.key_id LEFT JOIN user_account u ON u.id = r.user_id
        ORDER BY ${orderBy}`,
      parameters.values,
    );
  }
}

/** Each span of each key is read along the index of keys. */
function placesIn(places: readonly Place[] | null, parameters: SqlParameters): string {
  if (places === null) return 'request_record r';
  const spans = places.flatMap(spansOf);
  const list = (of: (span: KeySpan) => unknown, type: string): string =>
    `${parameters.add(spans.map(of))}::${type}[]`;
  const isWithin = 'o.created_at >= place.begins AND o.created_at < place.ends';
  return `unnest(${list(({ key }) => key, 'bigint')}, ${list(({ begins }) => new Date(begins), 'timestamptz')},
                 ${list(({ ends }) => new Date(ends), 'timestamptz')}) AS place (key_id, begins, ends)
    CROSS JOIN LATERAL (
      SELECT * FROM request_record o WHERE o.key_id = place.key_id AND ${isWithin}
      UNION ALL
      SELECT * FROM request_record o WHERE place.key_id IS NULL AND o.key_id IS NULL AND ${isWithin}) AS r`;
}

interface KeySpan {
  readonly key: string | null;
  /** Both are milliseconds; the end is exclusive. */
  readonly begins: number;
  readonly ends: number;
}

/** One span a key: from its first match to its last, or the whole hour. Dates are cut to milliseconds. */
function spansOf({ hour, keys, firsts = [], lasts = [] }: Place): KeySpan[] {
  const hourBegins = hour.getTime();
  const hourEnds = hourBegins + HOUR_MS;
  const spans = new Map<string | null, KeySpan>();
  for (const [place, key] of keys.entries()) {
    const begins = firsts[place]?.getTime() ?? hourBegins;
    const ends = Math.min((lasts[place]?.getTime() ?? hourEnds) + 1, hourEnds);
    const known = spans.get(key) ?? { begins, ends };
    spans.set(key, { key, begins: Math.min(begins, known.begins), ends: Math.max(ends, known.ends) });
  }
  return [...spans.values()];
}

/** As many hours as may fill the page, within the bound of one read. */
function enough(places: readonly Place[], wanted: number): readonly Place[] {
  let hits = 0;
  let keys = 0;
  const cut = places.findIndex((place) => {
    hits += place.hits;
    keys += place.keys.length;
    return hits >= wanted || keys >= KEYS_AT_ONCE;
  });
  return cut === -1 ? places : places.slice(0, cut + 1);
}

function pageOf(rows: readonly Row[], page: PageRequest): Page<LoggedRequest> {
  const found = newestFirst.page(rows, page);
  return { ...found, rows: found.rows.map(requestOf) };
}

/** A page that is not full although more may exist: its cursor stands at the edge of the searched span. */
function brokenOff(rows: readonly Row[], page: PageRequest, isDown: boolean, hour: Date): RequestLogPage {
  const edge = isDown ? hour : new Date(hour.getTime() + HOUR_MS);
  const cursor = newestFirst.cursorAt(isDown ? 'next' : 'previous', [
    String(edge.getTime() * 1_000),
    FIRST_ID,
  ]);
  const found = pageOf(rows, page);
  return { ...found, ...(isDown ? { next: cursor } : { previous: cursor }), searchedTo: edge };
}

function requestOf(row: Row): LoggedRequest {
  const named = columns.map((column) => [column.field, valueOfRow(column, row)]);
  return {
    ...(Object.fromEntries(named) as Omit<RequestRecord, 'settlementId'>),
    settledAt: row.settled_at,
    settlementId: row.settlement_id as string | null,
    keyName: row.key_name,
    keyKind: row.key_kind,
    keyPublicId: row.key_public_id,
    userName: row.user_name,
  };
}
