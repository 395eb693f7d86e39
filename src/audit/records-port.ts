import type { ListOf, RecordQuery, RecordsPort, SettledRecord } from '#extension';
import { isUuid, MINUTE_MS } from '../kernel';
import { type Database, Keyset } from '../platform';
import { entryOf } from './request-record.query';
import { settledRecordOf } from './settled-record';
import { SqlParameters } from './sql-parameters';

type RecordsPortRow = Readonly<Record<string, unknown>>;

const DEFAULT_LIMIT = 100;
const MAX_RECORDS = 1_000;
/** No index orders the records of all keys, so they are read backwards in growing time spans. */
const FIRST_SPAN_MS = MINUTE_MS;
const SPAN_GROWTH = 4;

const newestFirst = new Keyset(
  [
    { sql: 'created_at', kind: 'instant' },
    { sql: 'request_id', kind: 'uuid' },
  ],
  'descending',
);

/** A caller can reuse a request id: the newest executed request wins, then the newest refused one. */
const ONE = `
  SELECT * FROM request_record WHERE request_id = $1 ORDER BY (usage_source = 'none'), created_at DESC LIMIT 1`;

export class DatabaseRecords implements RecordsPort {
  constructor(private readonly database: Database) {}

  async get(requestId: string): Promise<SettledRecord | null> {
    if (!isUuid(requestId)) return null;
    const [row] = await this.database.query<RecordsPortRow>(ONE, [requestId]);
    return row === undefined ? null : settledRecordOf(entryOf(row));
  }

  async list(query: RecordQuery): Promise<ListOf<SettledRecord>> {
    const { from, to, cursor = null } = query;
    assertTime('from', from);
    assertTime('to', to);
    const page = { cursor, limit: parseLimit(query.limit) };
    const fetchedRows = await this.find(query, page);
    const { rows, next } = newestFirst.page(fetchedRows, page);
    return { items: rows.map((row) => settledRecordOf(entryOf(row))), cursor: next };
  }

  /** Returns the rows of a page, and one more if there is one. */
  private async find(
    query: RecordQuery,
    page: { cursor: string | null; limit: number },
  ): Promise<RecordsPortRow[]> {
    const isIndexed = query.keyId !== undefined || query.organisationId !== undefined;
    const rows: RecordsPortRow[] = [];
    let to = this.upperBoundOf(query, page.cursor);
    for (let span = FIRST_SPAN_MS; to > query.from; span *= SPAN_GROWTH) {
      const from = isIndexed ? query.from : new Date(Math.max(to.getTime() - span, query.from.getTime()));
      rows.push(...(await this.readSpan({ ...query, from, to }, page, page.limit + 1 - rows.length)));
      if (rows.length > page.limit) break;
      to = from;
    }
    return rows;
  }

  /** Upper bound of the search: the cursor's time, or that of the newest record. */
  private upperBoundOf({ to }: RecordQuery, cursor: string | null): Date {
    const { parameters } = newestFirst.clause({ cursor, limit: 1 }, 1);
    const latestMs =
      parameters[0] === undefined ? Date.now() + MINUTE_MS : Math.ceil(Number(parameters[0]) / 1_000);
    return new Date(Math.min(to.getTime(), latestMs + 1));
  }

  private readSpan(
    { from, to, keyId, organisationId }: RecordQuery,
    page: { cursor: string | null; limit: number },
    limit: number,
  ): Promise<RecordsPortRow[]> {
    const parameters = new SqlParameters();
    const conditions = [`created_at >= ${parameters.add(from)}`, `created_at < ${parameters.add(to)}`];
    if (keyId !== undefined) conditions.push(`key_id = ${parameters.add(keyId)}`);
    if (organisationId !== undefined) conditions.push(`organisation_id = ${parameters.add(organisationId)}`);
    const keyset = newestFirst.clause(page, parameters.values.length + 1);
    parameters.values.push(...keyset.parameters);
    return this.database.query<RecordsPortRow>(
      `SELECT *, ${newestFirst.positions} FROM request_record
        WHERE ${[...conditions, keyset.where].join(' AND ')}
        ORDER BY ${keyset.orderBy} LIMIT ${parameters.add(limit)}`,
      parameters.values,
    );
  }
}

function assertTime(name: string, value: unknown): void {
  if (!(value instanceof Date) || Number.isNaN(value.getTime()))
    throw new RangeError(`${name} is no valid Date`);
}

function parseLimit(limit: unknown = DEFAULT_LIMIT): number {
  if (Number.isInteger(limit) && (limit as number) >= 1 && (limit as number) <= MAX_RECORDS)
    return limit as number;
  throw new RangeError(`limit is not from 1 to ${MAX_RECORDS}`);
}
