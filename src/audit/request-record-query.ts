import { Injectable } from '@nestjs/common';
import { fault } from '../kernel';
import { Database } from '../platform';
import { columns, valueOfRow } from './record-columns';
import type { RequestRecord } from './request-record';

/** A request record as its readers see it. */
export interface RequestEntry extends Omit<RequestRecord, 'settlementId'> {
  /** Where the page after this entry begins. */
  readonly cursor: string;
}

export interface RecordFilter {
  readonly from?: Date | null;
  /** Not included. */
  readonly to?: Date | null;
  /** As it was asked for, or as it was served. */
  readonly model?: string | null;
  readonly cursor?: string | null;
  readonly limit: number;
}

type Row = Readonly<Record<string, unknown>> & { readonly instant: string; readonly request_id: string };

/** In microseconds since 1970, as the database counts: a Date would lose the last three digits. */
const INSTANT = `(extract(epoch FROM created_at) * 1000000)::bigint::text`;
const instantOf = (parameter: string): string =>
  `timestamptz 'epoch' + ${parameter}::bigint * interval '1 microsecond'`;

const pageOf = (which: string): string => `
  SELECT *, ${INSTANT} AS instant FROM request_record
   WHERE key_id = $1 AND ${which}
     AND ($2::timestamptz IS NULL OR created_at >= $2) AND ($3::timestamptz IS NULL OR created_at < $3)
     AND ($4::bigint IS NULL OR (created_at, request_id) < (${instantOf('$4')}, $5::uuid))
   ORDER BY created_at DESC, request_id DESC LIMIT $6`;

const PAGE = pageOf('true');
/** One index knows the model that was asked for, another the one that served, where that is not the same. */
const PAGE_OF_MODEL = `
  SELECT * FROM (
    (${pageOf('model = $7')}) UNION ALL
    (${pageOf('served_model = $7 AND served_model IS DISTINCT FROM model')})) AS page
   ORDER BY created_at DESC, request_id DESC LIMIT $6`;

/** A caller may use one request id twice: the newest that was carried out is meant, then the newest that was refused. */
const ONE = `
  SELECT *, ${INSTANT} AS instant FROM request_record WHERE request_id = $1 AND key_id = $2
   ORDER BY (usage_source = 'none'), created_at DESC LIMIT 1`;

const ROWS_AT_ONCE = 1_000;
const CURSOR = /^(\d{1,18})_([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

/** Reads request records page by page, along the indexes and never by counting off. */
@Injectable()
export class RequestRecordQuery {
  constructor(private readonly database: Database) {}

  /** The newest first. */
  async ofKey(keyId: number, filter: RecordFilter): Promise<RequestEntry[]> {
    const [instant, requestId] = readCursor(filter.cursor ?? null);
    const { from, to, model, limit } = filter;
    const parameters = [keyId, from ?? null, to ?? null, instant, requestId, limit];
    const rows =
      model === null || model === undefined
        ? await this.database.query<Row>(PAGE, parameters)
        : await this.database.query<Row>(PAGE_OF_MODEL, [...parameters, model]);
    return rows.map(entryOf);
  }

  /** The same, in one go over as many pages as there are. */
  async *allOfKey(keyId: number, filter: RecordFilter): AsyncGenerator<RequestEntry> {
    let cursor = filter.cursor ?? null;
    for (let left = filter.limit; left > 0;) {
      const limit = Math.min(left, ROWS_AT_ONCE);
      const page = await this.ofKey(keyId, { ...filter, cursor, limit });
      yield* page;
      left -= page.length;
      cursor = page.at(-1)?.cursor ?? null;
      if (page.length < limit) return;
    }
  }

  async ofRequest(keyId: number, requestId: string): Promise<RequestEntry | null> {
    const [row] = await this.database.query<Row>(ONE, [requestId, keyId]);
    return row === undefined ? null : entryOf(row);
  }
}

function readCursor(text: string | null): [instant: string | null, requestId: string | null] {
  if (text === null) return [null, null];
  const [, instant, requestId] = CURSOR.exec(text) ?? [];
  if (instant === undefined || requestId === undefined) {
    throw fault('invalid_request', {
      param: 'cursor',
      message: 'cursor must be the next_cursor of an earlier page.',
    });
  }
  return [instant, requestId];
}

function entryOf(row: Row): RequestEntry {
  const named = columns.map((column) => [column.field, valueOfRow(column, row)]);
  const record = Object.fromEntries(named) as Omit<RequestRecord, 'settlementId'>;
  return { ...record, cursor: `${row.instant}_${row.request_id}` };
}
